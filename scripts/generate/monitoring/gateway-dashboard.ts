import { type Dashboard, graph, stat } from './dashboard-panels.ts';

const GROUP = 'namespace=~"$namespace", name=~"$name"';
const perGroup = '{{namespace}}/{{name}}';
/** Returns the rate of a counter, summed over pickers, each of which counts its own requests. */
const rate = (counter: string, by = 'namespace, name') =>
  `sum by (${by}) (rate(gpu_rental_gateway_${counter}{${GROUP}}[5m]))`;
const held = `sum by (namespace, name) (gpu_rental_gateway_held_requests{${GROUP}})`;
const inFlight = `sum by (namespace, name) (gpu_rental_gateway_in_flight_requests{${GROUP}})`;
const quantile = (share: number, histogram: string) =>
  `histogram_quantile(${share}, ${rate(`${histogram}_bucket`, 'namespace, name, le')})`;

export const gateway: Dashboard = {
  file: 'gateway',
  title: 'GPU rental: gateway',
  description: 'Requests to EndpointGroups: held, served, and by caller.',
  variables: [
    { name: 'namespace', query: 'label_values(gpu_rental_gateway_held_requests, namespace)' },
    { name: 'name', query: 'label_values(gpu_rental_gateway_held_requests{namespace=~"$namespace"}, name)' },
  ],
  rows: [
    {
      title: 'Now',
      panels: [
        stat('Held requests', 'short', `sum(${held})`, 'Requests that wait for a worker.'),
        stat('Requests in progress', 'short', `sum(${inFlight})`),
        stat(
          'Refused in an hour',
          'short',
          `sum(increase(gpu_rental_gateway_refusals_total{${GROUP}}[1h]))`,
          'By the pickers; what workers answered is not in it.',
        ),
        stat('Wake-ups in an hour', 'short', `sum(increase(gpu_rental_gateway_wakes_total{${GROUP}}[1h]))`),
      ],
    },
    {
      title: 'Waiting',
      panels: [
        graph('Held requests', 'short', [{ expr: held, legend: perGroup }]),
        graph(
          'How long requests were held',
          's',
          [
            { expr: quantile(0.5, 'wait_seconds'), legend: `${perGroup} median` },
            { expr: quantile(0.99, 'wait_seconds'), legend: `${perGroup} 99 %` },
          ],
          'Of those that a worker was picked for.',
        ),
        graph('First byte', 's', [
          { expr: quantile(0.5, 'first_byte_seconds'), legend: `${perGroup} median` },
          { expr: quantile(0.99, 'first_byte_seconds'), legend: `${perGroup} 99 %` },
        ]),
        graph('Workers that accept requests', 'short', [
          {
            expr: `max by (namespace, name) (gpu_rental_gateway_ready_workers{${GROUP}})`,
            legend: perGroup,
          },
        ]),
      ],
    },
    {
      title: 'Requests and work',
      panels: [
        graph('Requests by status', 'ops', [
          { expr: rate('requests_total', 'namespace, name, code'), legend: `${perGroup} {{code}}` },
        ]),
        graph(
          'Work per second by caller',
          'short',
          [
            {
              expr: rate('work_total', 'namespace, name, caller, unit'),
              legend: `${perGroup} {{caller}} {{unit}}`,
            },
          ],
          'In the unit of each group. A caller is the name of a key in the Secret of spec.gateway.keys.',
        ),
        graph('Requests by caller', 'ops', [
          { expr: rate('requests_total', 'namespace, name, caller'), legend: `${perGroup} {{caller}}` },
        ]),
        graph('Requests in progress', 'short', [{ expr: inFlight, legend: perGroup }]),
      ],
    },
    {
      title: 'Failures',
      panels: [
        graph('Share of failed requests', 'percentunit', [
          {
            expr: `group:gpu_rental_gateway_failed:ratio_rate15m{${GROUP}}`,
            legend: perGroup,
          },
        ]),
        graph('Refusals by code', 'ops', [
          { expr: rate('refusals_total', 'namespace, name, code'), legend: `${perGroup} {{code}}` },
        ]),
        graph(
          'Attempts beyond the first',
          'ops',
          [{ expr: rate('retries_total'), legend: perGroup }],
          'Another worker was tried before the first byte.',
        ),
        graph('Clients that disconnected while held', 'ops', [
          { expr: rate('left_total'), legend: perGroup },
        ]),
      ],
    },
  ],
};
