// Self-attention with relative position representations (Shaw et al. 2018, 1803.02155):
//
//   head_h = softmax(Q W^Q_h (K W^K_h + A^K)^T / sqrt(D)) (V W^V_h + A^V)
//   output = concat(head_1 … head_H) W^O
import {
  type AttentionConfig,
  type AttentionParts,
  ConfigError,
  type LayerCall,
  type LayerInputs,
  type LayerResult,
  type LayerReturn,
  type PositionMethod,
  type VariableShapes,
} from '@polyhead/core';
import {
  AttentionLayer,
  type AttentionSizes,
  attendHeads,
  attentionSizes,
  cleanTidy,
  projectionShapes,
} from '@polyhead/core/layer';
import { checkFlags } from './check-options';
import { type ShawOptions, shawOptions, shawShapes, shawTables } from './shaw';

export interface RelativePositionConfig extends AttentionConfig, ShawOptions {
  /** Tables of their own for each head. Default: false, all heads share them. */
  readonly perHead?: boolean | undefined;
}

const where = 'RelativePositionAttention';
const ownOptions = [...shawOptions, 'perHead'] as const;

function sizesOf(config: RelativePositionConfig): AttentionSizes {
  return attentionSizes(where, config, { options: ownOptions });
}

/**
 * Shapes of the variables of a layer, in order, without allocating any: those of the tables are `position/keys` and, with
 * a table of their own, `position/values`.
 *
 * @throws ConfigError as the layer's constructor does
 */
export function variableShapes(config: RelativePositionConfig): VariableShapes {
  const sizes = sizesOf(config);
  const { numHeads, headDim, valueHeadDim } = sizes;
  const { perHead } = config;
  checkFlags(where, { perHead });
  const options = { ...tableOptions(config), headDim, valueHeadDim };
  const tables = shawShapes(where, options, perHead ? numHeads : undefined);
  const prefixed = Object.entries(tables).map(([name, shape]) => [`position/${name}`, shape]);
  return { ...projectionShapes(sizes), ...Object.fromEntries(prefixed) };
}

/**
 * Multi-head attention that knows how far apart tokens stand. Its tables belong to the layer. Other position methods are
 * passed to any variant as `parts.position`; to this one too, in place of its tables.
 *
 * @example
 * const attention = new RelativePositionAttention({ embedDim: 512, numHeads: 8, maxRelativePosition: 16 });
 * const { output } = attention.apply({ query: x }, { mask: causal() });
 */
export class RelativePositionAttention extends AttentionLayer<RelativePositionConfig> {
  /** Its name in JSON. */
  static readonly kind = 'RelativePositionAttention';

  private readonly position: PositionMethod;

  /** @throws ConfigError for options that cannot be */
  constructor(config: RelativePositionConfig, parts: AttentionParts = {}) {
    const sizes = sizesOf(config);
    const position = parts?.position; // what is no object is refused with the other parts
    const variables = position ? projectionShapes(sizes) : variableShapes(config);
    if (position) checkNoTables(config);
    super(where, config, parts, { sizes, variables });
    this.position = position ?? {
      config: {},
      variables: [], // the layer's own
      ...shawTables(tableOptions(config), (name) => this.weights.get(`position/${name}`)),
      dispose() {},
    };
  }

  /**
   * @param inputs query [B, Sq, E]; key [B, Skv, E of keys] and value [B, Skv, E of values] for cross-attention
   * @returns output [B, Sq, outputDim], and on request weights [B, H, Sq, Skv], logSumExp [B, H, Sq] and headOutputs
   *   [B, H, Sq, Dv]
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call: LayerCall<Returns> = {},
  ): LayerResult<Returns> {
    const { query, key, value, cross, options } = this.checked(inputs, call);
    return cleanTidy(() =>
      attendHeads(
        {
          ...this.scoreOptions(options),
          position: this.position,
          cross,
          query: this.heads('query', query), // [B, H, Sq, D]
          key: key && this.heads('key', key), // [B, H, Skv, D]
          value: value && this.heads('value', value), // [B, H, Skv, Dv]
        },
        (heads) => this.merged(heads, query, options), // [B, Sq, outputDim]
      ),
    );
  }
}

/** What of the config describes the tables, without what is null. */
function tableOptions(config: RelativePositionConfig): ShawOptions {
  const named = shawOptions.map((name) => [name, config[name] ?? undefined]);
  return Object.fromEntries(named) as ShawOptions;
}

function checkNoTables(config: RelativePositionConfig): void {
  const named = ownOptions.filter((name) => (config[name] ?? undefined) !== undefined);
  if (named.length === 0) return;
  throw new ConfigError(where, 'a position method given as a part takes the place of the tables', {
    'options of the tables': named,
  });
}
