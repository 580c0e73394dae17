import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';

/** Definition of a family: name, help, and label names. */
export interface Family<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

/** A family that the client library defines. */
export interface ProcessFamily extends Family<string> {
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
}

/** Creates metric families in a registry of its own, never in a global one. */
export interface MetricRegistry {
  counter<Label extends string>(family: Family<Label>): Counter<Label>;
  gauge<Label extends string>(family: Family<Label>): Gauge<Label>;
  histogram<Label extends string>(family: Family<Label>, buckets: readonly number[]): Histogram<Label>;
  /** Registers the client's own families of this process: `process_*` and `nodejs_*`. Call it once. */
  collectProcess(): readonly ProcessFamily[];
  /** Calls `refresh` before each exposition, for values that are only computed then. */
  beforeExposition(refresh: () => void): void;
  readonly contentType: string;
  /** Returns the exposition in Prometheus' text format. */
  expose(): Promise<string>;
}

/** Names that `promtool check metrics` refuses: gauges with a counter's suffix, and types as names. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
];
/** The maximum of a timer, which disables sampling. */
const NEVER_MS = 2_147_483_647;

/**
 * Interval of the samples of the event loop's lag. The library's 10 ms wake an idle process a hundred times a second.
 * Each sample of `nodejs_eventloop_lag_*` includes this time.
 */
const EVENT_LOOP_SAMPLE_MS = 100;

/** Fields of a metric that the library's type lacks. */
interface RegisteredMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

const TYPES: ReadonlySet<string> = new Set(['counter', 'gauge', 'histogram', 'summary']);

function processFamily(metric: object): readonly ProcessFamily[] {
  const { name, help, type, labelNames = [] } = metric as RegisteredMetric;
  if (!/^(process|nodejs)_/.test(name)) return [];
  if (!TYPES.has(type)) throw new Error(`The client library made ${name} a ${type}`);
  return [{ name, help, labelNames, type: type as ProcessFamily['type'] }];
}

/** Returns an empty registry: it collects nothing before {@link MetricRegistry.collectProcess}. */
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
    collectProcess: () => {
      collectDefaultMetrics({
        register: registry,
        eventLoopUtilizationTimeout: NEVER_MS,
        eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS,
      });
      for (const name of MISNAMED) registry.removeSingleMetric(name);
      return registry.getMetricsAsArray().flatMap((metric) => processFamily(metric));
    },
    beforeExposition: (refresh) => refreshers.push(refresh),
    contentType: registry.contentType,
    expose: () => {
      for (const refresh of refreshers) refresh();
      return registry.metrics();
    },
  };
}
