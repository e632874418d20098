// The compiled module, and what it exports.
import { WasmModules } from '@polyhead/core/kernel';
import { plain, relaxed } from './compiled';

/** What `assembly/index.ts` exports, and the host calls. */
export interface DenseExports {
  workspaceBytes(product: number): number;
  multiply(product: number, workspace: number, from: number, to: number): void;
}

export const modules = /* @__PURE__ */ new WasmModules<DenseExports>({ plain, relaxed });
