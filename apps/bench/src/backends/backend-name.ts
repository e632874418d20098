/** In order of preference. */
export const backendNames = ['tensorflow', 'wasm', 'cpu'] as const;
export type BackendName = (typeof backendNames)[number];
