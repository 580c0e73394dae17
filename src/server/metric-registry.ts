import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';

/** What every family has: its name, what it means, and the names of its labels. */
export interface Family<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

/** Makes metric families in one registry of its own: nothing is registered in a global one. */
export interface MetricRegistry {
  counter<Label extends string>(family: Family<Label>): Counter<Label>;
  gauge<Label extends string>(family: Family<Label>): Gauge<Label>;
  histogram<Label extends string>(family: Family<Label>, buckets: readonly number[]): Histogram<Label>;
  /** Called right before each exposition, to set what is only worth computing then. */
  beforeExposition(refresh: () => void): void;
  readonly contentType: string;
  /** The text that Prometheus reads. */
  expose(): Promise<string>;
}

/** A registry without the client's default metrics. */
export function createMetricRegistry(): MetricRegistry {
  const registry = new Registry();
  const refreshers: (() => void)[] = [];
  const options = <Label extends string>({ name, help, labelNames }: Family<Label>) => ({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
  });
  return {
    counter: (family) => new Counter(options(family)),
    gauge: (family) => new Gauge(options(family)),
    histogram: (family, buckets) => new Histogram({ ...options(family), buckets: [...buckets] }),
    beforeExposition: (refresh) => refreshers.push(refresh),
    contentType: registry.contentType,
    expose: () => {
      for (const refresh of refreshers) refresh();
      return registry.metrics();
    },
  };
}
