// All that the JSON of a model's config may name.
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import {
  bertRelative,
  deberta,
  debertaEmbeddings,
  learned,
  rotary,
  sinusoidal,
  t5,
} from '@polyhead/relative-position';
import { Decoder, Embedding, Encoder, EncoderDecoder, zeros } from '@polyhead/transformer';

export const kinds = [
  ...[Decoder, Encoder, EncoderDecoder, Embedding, zeros],
  ...[GroupedQueryAttention, MultiHeadAttention],
  ...[rotary, learned, sinusoidal, t5, bertRelative, deberta, debertaEmbeddings],
];
