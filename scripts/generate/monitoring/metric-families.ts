import { parseConfig } from '../../../src/config.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { type Transport, TransportError } from '../../../src/lib/transport.ts';
import { exposeOperator } from '../../../src/main/exposition.ts';
import { createOperator } from '../../../src/main/operator.ts';
import { tokenCredentials } from '../../../src/runtime/kube/credentials.ts';
import {
  createGatewayMetrics,
  showGatewayGroups,
  showOperatorOutage,
} from '../../../src/server/gateway-metrics.ts';
import { countedTransport } from '../../../src/server/marketplace-request-metrics.ts';
import { createMetricRegistry, type MetricRegistry } from '../../../src/server/metric-registry.ts';
import { createRentalMetrics } from '../../../src/server/rental-metrics.ts';
import { createProcessMetrics, createRuntimeMetrics } from '../../../src/server/runtime-metrics.ts';

/** A family as it is registered. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly buckets: readonly number[];
}

function recording(registry: MetricRegistry, families: MetricFamily[]): MetricRegistry {
  return {
    ...registry,
    collectProcess: () => {
      const collected = registry.collectProcess();
      families.push(...collected.map((family) => ({ ...family, buckets: [] })));
      return collected;
    },
    counter: (family) => {
      families.push({ ...family, type: 'counter', buckets: [] });
      return registry.counter(family);
    },
    gauge: (family) => {
      families.push({ ...family, type: 'gauge', buckets: [] });
      return registry.gauge(family);
    },
    histogram: (family, buckets) => {
      families.push({ ...family, type: 'histogram', buckets });
      return registry.histogram(family, buckets);
    },
  };
}

const nowhere: Transport = async () => {
  throw new TransportError('nothing is sent while families are listed', { sent: false });
};

/** Gives the registry every family of the operator, by wiring a real one that never runs. */
function wire(registry: MetricRegistry): void {
  const marketplace = countedTransport(nowhere, systemClock, registry);
  createProcessMetrics(registry, 'operator');
  const operator = createOperator({
    config: parseConfig({}, {}),
    env: { clock: systemClock, random: systemRandom, kube: nowhere, marketplace, log: silentLogger },
    kubeOrigin: 'https://127.0.0.1:9',
    credentials: tokenCredentials(new Secret('none')),
    processName: 'documentation',
    metrics: createRuntimeMetrics(registry),
    rentalMetrics: createRentalMetrics(registry),
    prober: async () => undefined,
  });
  exposeOperator(registry, operator, systemClock);
}

/** Returns every family that the operator registers, sorted by name. */
export function metricFamilies(): readonly MetricFamily[] {
  const families: MetricFamily[] = [];
  wire(recording(createMetricRegistry(), families));
  return families.toSorted((left, right) => left.name.localeCompare(right.name, 'en'));
}

/** Returns every family of a picker that is not of its process, sorted by name. */
export function gatewayFamilies(): readonly MetricFamily[] {
  const families: MetricFamily[] = [];
  const registry = recording(createMetricRegistry(), families);
  createGatewayMetrics(registry);
  showGatewayGroups(registry, () => []);
  showOperatorOutage(registry, () => 0);
  return families.toSorted((left, right) => left.name.localeCompare(right.name, 'en'));
}

/** Returns the exposition of an idle operator: the help and type of every family.¶@internal A test alone reads it. */
export function firstExposition(): Promise<string> {
  const registry = createMetricRegistry();
  wire(registry);
  return registry.expose();
}

/** Returns the names of the series of a family.¶@internal A test alone reads it. */
export function seriesOf({ name, type }: MetricFamily): readonly string[] {
  return type === 'histogram' || type === 'summary'
    ? [`${name}_bucket`, `${name}_sum`, `${name}_count`]
    : [name];
}
