// The claims, by theme.
import type { Claim } from './claim';
import { cost } from './cost';
import { fewerHeads } from './fewer-heads';
import { headMaps } from './head-maps';
import { inCode } from './in-code';
import { jobs } from './jobs';
import { oneLayer } from './one-layer';
import { positions } from './positions';
import { scaling } from './scaling';
import { trained } from './trained';

export interface Theme {
  readonly title: string;
  /** Where the runs are, in this folder. */
  readonly file: string;
  readonly claims: readonly Claim[];
}

export const themes: readonly Theme[] = [
  { title: 'One layer', file: 'one-layer.ts', claims: oneLayer },
  { title: 'How many heads', file: 'trained.ts', claims: trained },
  { title: 'What heads do', file: 'head-maps.ts', claims: headMaps },
  { title: 'What becomes of fewer', file: 'fewer-heads.ts', claims: fewerHeads },
  { title: 'The scale', file: 'scaling.ts', claims: scaling },
  { title: 'What code does', file: 'in-code.ts', claims: inCode },
  { title: 'Positions and depth', file: 'positions.ts', claims: positions },
  { title: 'Small jobs', file: 'jobs.ts', claims: jobs },
  { title: 'What it costs', file: 'cost.ts', claims: cost },
];
