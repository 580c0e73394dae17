import type { EndpointGroup, EndpointGroupStatus } from '../api/v1alpha1/endpoint-group.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** The part of an informer that metrics of groups read. */
export interface GroupSource {
  list(): readonly EndpointGroup[];
}

interface Figure {
  readonly name: string;
  readonly help: string;
  /** Undefined where the group has not said it yet: then there is no series. */
  readonly read: (status: EndpointGroupStatus) => number | string | undefined;
}

const FIGURES: readonly Figure[] = [
  { name: 'hot_workers', help: 'Workers that run or are on their way to it.', read: ({ hot }) => hot },
  { name: 'cold_workers', help: 'Workers that are stopped and can be woken.', read: ({ cold }) => cold },
  { name: 'ready_workers', help: 'Workers that are published.', read: ({ ready }) => ready },
  {
    name: 'wanted_hot_workers',
    help: 'Hot workers wanted, after windows, limits and ceiling.',
    read: ({ autoscaling }) => autoscaling?.hot,
  },
  {
    name: 'wanted_workers',
    help: 'Hot and cold workers wanted, after windows, limits and ceiling.',
    read: ({ autoscaling }) => autoscaling?.total,
  },
  {
    name: 'load',
    help: 'Work that arrives per second, in the unit of the source.',
    read: ({ load }) => load,
  },
  {
    name: 'capacity',
    help: 'Work per second that the ready workers can do.',
    read: ({ autoscaling }) => autoscaling?.capacity,
  },
  {
    name: 'dollars_per_hour',
    help: 'What all workers of a group cost in an hour.',
    read: ({ pricePerHour }) => pricePerHour,
  },
];

/** What the status of each EndpointGroup says, read anew at each exposition. */
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
