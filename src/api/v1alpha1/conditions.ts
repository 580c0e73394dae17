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
  sentence: 'A replacement is due by spec, price or annotation, but blocked; the present machine is kept.',
} as const satisfies ConditionType;

export const gpuInstanceConditions = {
  ...summary,
  Rented: { polarity: 'normal-true', sentence: 'A machine is rented for this object.' },
  Running: {
    polarity: 'normal-true',
    sentence: 'The container runs, its ports are mapped, and its readiness probe succeeds if it has one.',
  },
  Succeeded: {
    polarity: 'normal-true',
    sentence:
      'The program of a run ended with exit code 0. Unknown while the run goes on; only for objects with spec.completion.',
  },
  OverBudget: {
    polarity: 'abnormal-true',
    sentence:
      'Price, lifetime or total cost is not within its limit, or lists contradict the price on record.',
  },
  ReplacementBlocked: replacementBlocked,
  Idle: {
    polarity: 'abnormal-true',
    sentence:
      'The GPUs of the machine have been idle for long; the message names the next action and its time.',
  },
  LifeFuseFixed: {
    polarity: 'abnormal-true',
    sentence: 'The machine ends itself before the operator would, by the maxLifetime of its rental.',
  },
  LeaseAtRisk: {
    polarity: 'abnormal-true',
    sentence:
      'The lease of the machine was not renewed for half its duration, or never: then it is not armed.',
  },
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
  CreditLow: {
    polarity: 'abnormal-true',
    sentence:
      'The credit above limits.minCredit lasts less than 24 h at the present hourly cost; it ends above 30 h.',
  },
} as const satisfies Record<string, ConditionType>;

export const endpointGroupConditions = {
  ...summary,
  MetricsAvailable: { polarity: 'normal-true', sentence: 'Valid load figures are available.' },
  Progressing: {
    polarity: 'normal-true',
    sentence: 'The number of workers is, or moves to, the desired number.',
  },
  AtMaxWorkers: { polarity: 'abnormal-true', sentence: 'The load needs more workers than maxWorkers.' },
  AtSpendCeiling: {
    polarity: 'abnormal-true',
    sentence: 'The load needs more workers than maxSpendPerHour allows.',
  },
  Saturated: { polarity: 'abnormal-true', sentence: 'Every hot worker is full.' },
  TargetQueueTimeTooShort: {
    polarity: 'abnormal-true',
    sentence:
      'Requests in service count as a queue, since the source does not distinguish waiting from running requests.',
  },
  WorkersBlocked: {
    polarity: 'abnormal-true',
    sentence:
      'No worker serves and none can start, so the gateway rejects requests with this reason; only for groups with a gateway.',
  },
  GatewayConnected: {
    polarity: 'normal-true',
    sentence: 'A picker reports the requests of the gateway; only for groups with a gateway.',
  },
  CallerKeysUsable: {
    polarity: 'normal-true',
    sentence: 'The Secret of spec.gateway.keys has usable caller keys; only for groups with keys.',
  },
  EndpointsPublished: {
    polarity: 'normal-true',
    sentence: 'The ConfigMap lists all ready workers; only for groups that publish one.',
  },
  ReplacementBlocked: {
    polarity: 'abnormal-true',
    sentence: 'Workers of an old template are kept, since no machine can be rented with the new one.',
  },
} as const satisfies Record<string, ConditionType>;

export const spendBudgetConditions = {
  Ready: { polarity: 'normal-true', sentence: 'The operator counts the namespace by this budget.' },
  Exceeded: {
    polarity: 'abnormal-true',
    sentence: 'The spending of the month reached perMonth, or the machines cost more than perHour.',
  },
} as const satisfies Record<string, ConditionType>;

export type GpuInstanceCondition = keyof typeof gpuInstanceConditions;
export type MarketplaceAccountCondition = keyof typeof marketplaceAccountConditions;
export type EndpointGroupCondition = keyof typeof endpointGroupConditions;
export type SpendBudgetCondition = keyof typeof spendBudgetConditions;
