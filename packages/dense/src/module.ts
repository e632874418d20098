// The compiled module, and what it exports.
import { type UnitExports, WasmModules } from '@polyhead/core/kernel';
import { plain, relaxed } from './compiled';

/** What `assembly/index.ts` exports, and the host calls. */
export interface DenseExports extends UnitExports {
  all(product: number, workspace: number): void;
}

export const modules = /* @__PURE__ */ new WasmModules<DenseExports>({ plain, relaxed });
