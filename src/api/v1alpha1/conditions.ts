/** Meaning of a condition, and of its absence. */
export interface ConditionType {
  /** `normal-true`: True is good. `abnormal-true`: absent while false. */
  readonly polarity: 'normal-true' | 'abnormal-true';
  readonly sentence: string;
}

const summary = {
  Ready: { polarity: 'normal-true', sentence: 'Everything matches the spec.' },
  Reconciling: { polarity: 'abnormal-true', sentence: 'The operator is at work on it.' },
  Stalled: { polarity: 'abnormal-true', sentence: 'It does not continue until a person acts.' },
} as const satisfies Record<string, ConditionType>;

const replacementBlocked = {
  polarity: 'abnormal-true',
  sentence: 'Another machine is due by spec, price or annotation, and the present one is kept meanwhile.',
} as const satisfies ConditionType;

export const gpuInstanceConditions = {
  ...summary,
  Rented: { polarity: 'normal-true', sentence: 'A machine is rented for this object.' },
  Running: {
    polarity: 'normal-true',
    sentence: 'The container runs, its ports are mapped, and its readiness probe succeeds if it has one.',
  },
  OverBudget: {
    polarity: 'abnormal-true',
    sentence:
      'Price, lifetime or total cost is not within its limit, or lists contradict the price on record.',
  },
  ReplacementBlocked: replacementBlocked,
} as const satisfies Record<string, ConditionType>;

export const marketplaceAccountConditions = {
  ...summary,
  Authenticated: { polarity: 'normal-true', sentence: 'The key proves the pinned login.' },
  Funded: { polarity: 'normal-true', sentence: 'Credit and spending leave room for rentals.' },
  Reachable: { polarity: 'normal-true', sentence: 'The marketplace answers with complete lists.' },
  Suspended: {
    polarity: 'abnormal-true',
    sentence: 'spec.suspend is true: nothing is rented or started with this account.',
  },
} as const satisfies Record<string, ConditionType>;

export const endpointGroupConditions = {
  ...summary,
  MetricsAvailable: { polarity: 'normal-true', sentence: 'Load figures arrive and are believable.' },
  Progressing: {
    polarity: 'normal-true',
    sentence: 'The number of workers is, or moves to, the desired number.',
  },
  AtMaxWorkers: { polarity: 'abnormal-true', sentence: 'The load needs more workers than maxWorkers.' },
  AtSpendCeiling: {
    polarity: 'abnormal-true',
    sentence: 'The load needs more workers than maxSpendPerHour pays for.',
  },
  Saturated: { polarity: 'abnormal-true', sentence: 'Every hot worker is full.' },
  TargetQueueTimeTooShort: {
    polarity: 'abnormal-true',
    sentence: 'Requests in service look like a queue, since the source does not tell waiting from running.',
  },
  WorkersBlocked: {
    polarity: 'abnormal-true',
    sentence:
      'No worker of a group with a gateway serves, and none can be started: its requests are refused with this reason.',
  },
  GatewayConnected: {
    polarity: 'normal-true',
    sentence: 'A picker of the gateway reports its requests; only for groups with a gateway.',
  },
  CallerKeysUsable: {
    polarity: 'normal-true',
    sentence: 'The Secret of spec.gateway.keys has keys by which callers are known; of such groups only.',
  },
  EndpointsPublished: {
    polarity: 'normal-true',
    sentence: 'The ConfigMap of the ready workers says which they are; of groups that publish one only.',
  },
  ReplacementBlocked: {
    polarity: 'abnormal-true',
    sentence: 'Workers of an old template are kept, since no machine can be rented by the new one.',
  },
} as const satisfies Record<string, ConditionType>;

export type GpuInstanceCondition = keyof typeof gpuInstanceConditions;
export type MarketplaceAccountCondition = keyof typeof marketplaceAccountConditions;
export type EndpointGroupCondition = keyof typeof endpointGroupConditions;
