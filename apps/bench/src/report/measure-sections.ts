// What a report shows beside the matrix: heads of the published encoder, and of SmolLM2 where it is installed, with the
// quality that smaller keys and values leave it.
import { findModel } from '../../../../scripts/models/models';
import type { Progress } from '../command-line/progress';
import { chooseModel } from '../model/choose-model';
import { mobyDickChapters } from '../published/moby-dick';
import type { PublishedModel } from '../published/model';
import { qualityChoices } from '../quality/choices';
import { measureQuality } from '../quality/measure-quality';
import { readTrainResult } from '../train/kept';
import { committedResult } from '../train/page';
import { positionSummaries, variantSummaries } from '../train/summary';
import { decoderMaps, encoderMaps } from './measure-maps';
import type { Sections, TrainedDecoders } from './sections';

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
  const trained = trainedDecoders();
  if ('reason' in findModel('smollm2')) return { maps, trained };
  const loaded = { ...(await chooseModel('smollm2')), title: 'SmolLM2 135M' };
  try {
    const { maps: ofDecoder, sinks } = await decoderMaps(loaded, { silences: !quick });
    const quality = await measureQuality(loaded, {
      text: novel(),
      tokens: quick ? 48 : 160,
      choices: qualityChoices.filter(({ isQuick }) => isQuick || !quick),
      progress,
    });
    return { maps: [...maps, ...ofDecoder], sinks: [sinks], quality: [quality], trained };
  } finally {
    loaded.model.dispose();
  }
}

/** From its first sentence on. */
function novel(): string {
  const [chapter] = mobyDickChapters();
  return chapter!.slice(chapter!.indexOf('Call me Ishmael'));
}

/** As `bench train` has left them in the repository. */
function trainedDecoders(): TrainedDecoders {
  const result = readTrainResult(committedResult);
  const { command, complete, settings, versions, reference } = result;
  const all = [...variantSummaries(result), ...positionSummaries(result)];
  const points = new Map(
    all.map(({ variant, position, cacheBytesPerToken, heldOut }) => {
      const name = position === reference.position ? variant : `${variant}, ${position}`;
      const { mean, spread, seeds } = heldOut;
      const point = { name, bytesPerToken: cacheBytesPerToken, heldOut: mean, seeds };
      return [name, { ...point, ...(spread !== undefined && { spread }) }];
    }),
  );
  return {
    ...{ command, complete, steps: settings.steps, points: [...points.values()] },
    ...(versions.commit !== undefined && { commit: versions.commit }),
  };
}
