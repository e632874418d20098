// `@polyhead/conformance/oracle`: the oracle without the suite, for programs that run outside vitest.

export { seededRandom } from './inputs';
export { type LayerOracle, layerOracle } from './layer-oracle';
export {
  attentionOracle,
  type HostTensor,
  type OracleInputs,
  type OracleResult,
  type Sizes,
} from './oracle';
export type { PositionOracle } from './position-checks/position-oracle';
export {
  alibiOracle,
  bertRelativeOracle,
  debertaOracle,
  rotaryOracle,
  shawOracle,
  t5Oracle,
  transformerXLOracle,
} from './position-checks/position-oracles';
