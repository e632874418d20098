export { type FlashCpuOptions, flashCpu } from './cpu/flash-cpu';
