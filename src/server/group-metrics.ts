import type { EndpointGroup, EndpointGroupStatus } from '../api/v1alpha1/endpoint-group.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** The part of an informer that metrics of groups use. */
export interface GroupSource {
  list(): readonly EndpointGroup[];
}

interface Figure {
  readonly name: string;
  readonly help: string;
  /** Value of the family; undefined if the group has not reported it yet: then there is no series. */
  readonly read: (status: EndpointGroupStatus) => number | string | undefined;
}

const FIGURES: readonly Figure[] = [
  { name: 'hot_workers', help: 'Workers that run or are starting.', read: ({ hot }) => hot },
  { name: 'cold_workers', help: 'Stopped workers that can be started.', read: ({ cold }) => cold },
  { name: 'ready_workers', help: 'Workers published in EndpointSlices.', read: ({ ready }) => ready },
  {
    name: 'desired_hot_workers',
    help: 'Desired hot workers, after windows, limits and ceiling.',
    read: ({ autoscaling }) => autoscaling?.hot,
  },
  {
    name: 'desired_workers',
    help: 'Desired hot and cold workers, after windows, limits and ceiling.',
    read: ({ autoscaling }) => autoscaling?.total,
  },
  {
    name: 'load',
    help: 'Arriving work per second, in the unit of the source.',
    read: ({ load }) => load,
  },
  {
    name: 'capacity',
    help: 'Work per second that the ready workers can handle.',
    read: ({ autoscaling }) => autoscaling?.capacity,
  },
  {
    name: 'dollars_per_hour',
    help: 'Hourly cost of all workers of a group.',
    read: ({ pricePerHour }) => pricePerHour,
  },
];

/** Exposes figures from the status of each EndpointGroup. */
export function showGroups(registry: MetricRegistry, source: GroupSource): void {
  const gauges = FIGURES.map(({ name, help, read }) => ({
    read,
    gauge: registry.gauge({ name: `gpu_rental_group_${name}`, help, labelNames: ['namespace', 'name'] }),
  }));
  registry.beforeExposition(() => {
    for (const { gauge, read } of gauges) {
      gauge.reset();
      for (const { metadata, status } of source.list()) {
        const figure = status && read(status);
        if (figure === undefined) continue;
        gauge.set({ namespace: metadata.namespace ?? '', name: metadata.name }, Number(figure));
      }
    }
  });
}
