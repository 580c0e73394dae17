import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import { type GroupFigures, groupFigures } from '../views/group-figures.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** The part of an informer that metrics of groups use. */
export interface GroupSource {
  list(): readonly EndpointGroup[];
}

type Status = NonNullable<EndpointGroup['status']>;

interface Figure {
  readonly name: string;
  readonly help: string;
  /** Value of the family: the one that `gpu-rent top` prints. Without a value there is no series. */
  readonly read: (figures: GroupFigures, status: Status) => number | undefined;
}

const FIGURES: readonly Figure[] = [
  {
    name: 'hot_workers',
    help: 'Workers that run or are starting.',
    read: ({ workers }) => workers.hot,
  },
  {
    name: 'cold_workers',
    help: 'Stopped workers that can be started.',
    read: ({ workers }) => workers.cold,
  },
  {
    name: 'ready_workers',
    help: 'Workers published in EndpointSlices.',
    read: ({ workers }) => workers.ready,
  },
  {
    name: 'desired_hot_workers',
    help: 'Desired hot workers, after windows, limits and ceiling.',
    read: (_figures, { autoscaling }) => autoscaling?.hot,
  },
  {
    name: 'desired_workers',
    help: 'Desired hot and cold workers, after windows, limits and ceiling.',
    read: (_figures, { autoscaling }) => autoscaling?.total,
  },
  {
    name: 'load',
    help: 'Arriving work per second, in the unit of the source.',
    read: ({ load }) => load?.perSecond,
  },
  {
    name: 'capacity',
    help: 'Work per second that the ready workers can handle.',
    read: ({ load }) => load?.capacityPerSecond,
  },
  {
    name: 'dollars_per_hour',
    help: 'Hourly cost of all workers of a group.',
    read: ({ cost }) => cost.perHour,
  },
];

/** Exposes figures of each EndpointGroup. A group without a status has none. */
export function showGroups(registry: MetricRegistry, source: GroupSource): void {
  const gauges = FIGURES.map(({ name, help, read }) => ({
    read,
    gauge: registry.gauge({ name: `gpu_rental_group_${name}`, help, labelNames: ['namespace', 'name'] }),
  }));
  registry.beforeExposition(() => {
    for (const { gauge } of gauges) gauge.reset();
    for (const group of source.list()) {
      const { status } = group;
      if (!status) continue;
      // Only ages of workers depend on the time.
      const figures = groupFigures(group, [], 0);
      const { namespace, name } = figures;
      for (const { gauge, read } of gauges) {
        const value = read(figures, status);
        if (value !== undefined) gauge.set({ namespace, name }, value);
      }
    }
  });
}
