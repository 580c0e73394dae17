import { type MicroDollars, runwayHours } from '../lib/money.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** Figures of an account at the time of exposition. */
export interface AccountFigures {
  readonly namespace: string;
  readonly account: string;
  readonly dollarsPerHour: MicroDollars;
  /** Credit of the login; undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
  readonly liveMachines: number;
  readonly rentalsLastHour: number;
  readonly spentThisMonth: MicroDollars;
  readonly orphans: number;
  readonly orphanDollarsPerHour: MicroDollars;
  /** Machines with a label of this operator outside its time: late rentals and copies. */
  readonly mislabelled: number;
  readonly mislabelledDollarsPerHour: MicroDollars;
  readonly breakerOpen: boolean;
  /** Seconds since the latest complete list ended; undefined before the first. */
  readonly listAgeSeconds: number | undefined;
  /** Objects in the queue of the login. */
  readonly queued: number;
  /** Seconds that the first of them has waited; 0 if none waits. */
  readonly queueSeconds: number;
  /** Seconds until a call could start, by endpoint class. */
  readonly waitSeconds: Readonly<Record<string, number>>;
}

interface Shown {
  readonly name: string;
  readonly help: string;
  readonly value: (figures: AccountFigures) => number | undefined;
}

const MICRO = 1_000_000;
const HOUR_SECONDS = 3600;

const FAMILIES: readonly Shown[] = [
  {
    name: 'dollars_per_hour',
    help: 'Hourly cost of all machines of an account, including rentals in progress.',
    value: ({ dollarsPerHour }) => dollarsPerHour / MICRO,
  },
  {
    name: 'credit_dollars',
    help: 'Credit of the login, read by the latest verification of the key.',
    value: ({ credit }) => credit && credit / MICRO,
  },
  {
    name: 'credit_runway_seconds',
    help: 'Time until the credit is used up at the present hourly cost of all machines of an account. Absent if nothing bills or the key may not read the credit.',
    value({ credit, dollarsPerHour }) {
      const hours = runwayHours(credit, dollarsPerHour);
      return hours === undefined ? undefined : hours * HOUR_SECONDS;
    },
  },
  {
    name: 'live_machines',
    help: 'Machines of an account, including rentals in progress.',
    value: ({ liveMachines }) => liveMachines,
  },
  {
    name: 'rentals_last_hour',
    help: 'Rentals of an account within the last hour.',
    value: ({ rentalsLastHour }) => rentalsLastHour,
  },
  {
    name: 'month_dollars',
    help: 'Spending of an account in the current UTC month.',
    value: ({ spentThisMonth }) => spentThisMonth / MICRO,
  },
  {
    name: 'orphans',
    help: 'Machines rented by this operator that no GpuInstance claims.',
    value: ({ orphans }) => orphans,
  },
  {
    name: 'orphan_dollars_per_hour',
    help: 'Hourly cost of machines rented by this operator that no GpuInstance claims.',
    value: ({ orphanDollarsPerHour }) => orphanDollarsPerHour / MICRO,
  },
  {
    name: 'mislabelled_machines',
    help: 'Machines that carry our label outside its time: late rentals and copies.',
    value: ({ mislabelled }) => mislabelled,
  },
  {
    name: 'mislabelled_dollars_per_hour',
    help: 'Hourly cost of machines that carry our label outside its time: late rentals and copies.',
    value: ({ mislabelledDollarsPerHour }) => mislabelledDollarsPerHour / MICRO,
  },
  {
    name: 'breaker_open',
    help: '1 while the breaker blocks replacement and orphan sweeps of an account.',
    value: ({ breakerOpen }) => (breakerOpen ? 1 : 0),
  },
  {
    name: 'queued_instances',
    help: 'GpuInstances queued for a search or a rental slot of an account.',
    value: ({ queued }) => queued,
  },
  {
    name: 'queue_longest_wait_seconds',
    help: 'Longest wait of the GpuInstances queued for an account; 0 if none waits.',
    value: ({ queueSeconds }) => queueSeconds,
  },
  {
    name: 'list_age_seconds',
    help: 'Age of the latest complete list of machines.',
    value: ({ listAgeSeconds }) => listAgeSeconds,
  },
];

/** Exposes the current figures of every account. */
export function showAccounts(registry: MetricRegistry, read: () => readonly AccountFigures[]): void {
  const labelNames = ['namespace', 'account'] as const;
  const gauges = FAMILIES.map(({ name, help, value }) => ({
    gauge: registry.gauge({ name: `gpu_rental_${name}`, help, labelNames }),
    value,
  }));
  const pacing = registry.gauge({
    name: 'gpu_rental_pacing_wait_seconds',
    help: 'Time until a marketplace call of this class could be sent now.',
    labelNames: [...labelNames, 'class'],
  });
  registry.beforeExposition(() => {
    for (const { gauge } of gauges) gauge.reset();
    pacing.reset();
    for (const figures of read()) {
      const labels = { namespace: figures.namespace, account: figures.account };
      for (const { gauge, value } of gauges) {
        const shown = value(figures);
        if (shown !== undefined) gauge.set(labels, shown);
      }
      for (const [name, wait] of Object.entries(figures.waitSeconds))
        pacing.set({ ...labels, class: name }, wait);
    }
  });
}
