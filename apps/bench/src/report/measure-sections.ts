// What a report shows beside the matrix: heads of the published encoder, and of SmolLM2 where it is installed, with the
// quality that smaller keys and values leave it.
import { findModel } from '../../../../scripts/models/models';
import type { Progress } from '../command-line/progress';
import { chooseModel } from '../model/choose-model';
import { mobyDickChapters } from '../published/moby-dick';
import type { PublishedModel } from '../published/model';
import { qualityChoices } from '../quality/choices';
import { measureQuality } from '../quality/measure-quality';
import { decoderMaps, encoderMaps } from './measure-maps';
import type { Sections } from './sections';

interface Extent {
  /** Fewer tokens and choices, and no head is silenced. */
  readonly quick: boolean;
  readonly progress: Progress;
}

/** On the current backend. */
export async function measureSections(
  encoder: PublishedModel,
  { quick, progress }: Extent,
): Promise<Sections> {
  progress.stage('reading what heads see');
  const maps = await encoderMaps(encoder);
  if ('reason' in findModel('smollm2')) return { maps };
  const loaded = { ...(await chooseModel('smollm2')), title: 'SmolLM2 135M' };
  try {
    const { maps: ofDecoder, sinks } = await decoderMaps(loaded, { silences: !quick });
    const quality = await measureQuality(loaded, {
      text: novel(),
      tokens: quick ? 48 : 160,
      choices: qualityChoices.filter(({ isQuick }) => isQuick || !quick),
      progress,
    });
    return { maps: [...maps, ...ofDecoder], sinks: [sinks], quality: [quality] };
  } finally {
    loaded.model.dispose();
  }
}

/** From its first sentence on. */
function novel(): string {
  const [chapter] = mobyDickChapters();
  return chapter!.slice(chapter!.indexOf('Call me Ishmael'));
}
