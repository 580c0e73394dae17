import type { Clock } from '../lib/clock.ts';
import type { Transport, TransportRequest } from '../lib/transport.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { REST_BUCKETS } from './runtime-metrics.ts';

/** Returns a path with its numbers replaced, so that a label never contains an id: `/api/v0/asks/{id}/`. */
export function routeOf(path: string): string {
  const [plain = ''] = path.split('?');
  return plain.replace(/\/\d+(?=\/|$)/g, '/{id}');
}

/** Counts requests of a transport to marketplaces, by route template and status. */
export function countedTransport(transport: Transport, clock: Clock, registry: MetricRegistry): Transport {
  const requests = registry.counter({
    name: 'gpu_rental_marketplace_requests_total',
    help: 'Requests to marketplaces by method, route template and status; <error> without a reply.',
    labelNames: ['method', 'route', 'code'],
  });
  const seconds = registry.histogram(
    {
      name: 'gpu_rental_marketplace_request_duration_seconds',
      help: 'Time from sending a request to the head of its reply.',
      labelNames: ['method', 'route'],
    },
    REST_BUCKETS,
  );
  const count = (request: TransportRequest, code: string, begun: number) => {
    const labels = { method: request.method, route: routeOf(request.path) };
    requests.inc({ ...labels, code });
    seconds.observe(labels, (clock.monotonic() - begun) / 1000);
  };
  return async (request) => {
    const begun = clock.monotonic();
    try {
      const response = await transport(request);
      count(request, String(response.status), begun);
      return response;
    } catch (error) {
      count(request, '<error>', begun);
      throw error;
    }
  };
}
