// The attention layers that a plan is made for.
import type { ModelPlan } from '@polyhead/inspect';

export interface PlannedModel extends Omit<ModelPlan, 'attentionLayers' | 'parameters'> {
  readonly name: string;
}

// Sizes beyond these are no plan for anything.

/** Of a width, a number of heads or of sequences. */
export const mostSize = 2 ** 20;

export const mostLayers = 2 ** 12;

/** Of a context. */
export const mostTokens = 2 ** 30;
