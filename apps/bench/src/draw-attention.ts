// `bench attention TEXT`: one sentence's maps, with the proof that they are the model's own.
import { attentionMaps, type MapRequest } from './attention-maps';
import { chooseBackend } from './backend';
import type { BackendName } from './backend-name';
import { readModelFiles } from './model-files';
import type { Outlet } from './outlet';
import { loadPublishedModel } from './published-model';

export async function drawAttention(
  { backend, ...request }: MapRequest & { readonly backend?: BackendName },
  { print, terminal }: Outlet,
): Promise<void> {
  await chooseBackend(backend);
  const model = await loadPublishedModel(readModelFiles());
  try {
    print(await attentionMaps(model, request, terminal));
  } finally {
    model.dispose();
  }
}
