import * as z from 'zod';
import { requestPath, workerPort } from './core.ts';
import { choice, decimal, duration, notes, text } from './schema.ts';

const metricName = (description: string, example: string) =>
  text({
    description,
    example,
    maxLength: 256,
    pattern: '^[a-zA-Z_][a-zA-Z0-9_:.]*$',
    write: 'write the name of a metric, or a path such as load.current into the JSON reply',
  }).optional();

const figures = z
  .object({
    newLoad: metricName('Work that arrived; a counter in Prometheus text.', 'vllm:generation_tokens_total'),
    rejectedLoad: metricName('Work that was turned away; never part of `newLoad`.', 'rej_load'),
    currentLoad: metricName('Work in the worker now, waiting or running.', 'cur_load'),
    waitingLoad: metricName(
      'Waiting work, if the worker distinguishes it from running work.',
      'vllm:num_requests_waiting',
    ),
    maxPerf: metricName('Work per second that the worker can do.', 'max_perf'),
    inFlight: metricName('Requests in the worker now; draining ends at 0.', 'vllm:num_requests_running'),
    error: metricName('A text that is not empty when the worker is broken.', 'error_msg'),
  })
  .meta(notes({ description: "Names of the figures; a preset's names are used for those left out." }));

const httpPull = z
  .object({
    port: workerPort
      .meta(notes({ description: 'The port of the worker, by name or number.', example: 'http' }))
      .optional(),
    path: requestPath('Path of the request.', '/metrics').optional(),
    scheme: choice(['HTTP', 'HTTPS'], {
      description:
        'Protocol; certificates are not verified. A worker of a gateway with link TLS is reached by mutual TLS in any case.',
    }).default('HTTP'),
    format: choice(['JSON', 'Prometheus'], {
      description: 'Form of the reply; by default that of the preset.',
    }).optional(),
    preset: choice(['Pyworker', 'VLLM', 'Custom'], {
      description: 'Names of path, format and figures. Custom: set all of them here.',
    }).default('Pyworker'),
    figures: figures.optional(),
    timeout: duration({ description: 'Timeout of one reply.', min: '100ms', max: '10s' }).default('3s'),
  })
  .meta(
    notes({
      description: 'The operator requests the load from each worker at every tick.',
      rules: [
        {
          rule: "self.preset != 'Custom' || (has(self.path) && has(self.format) && has(self.figures))",
          message: 'preset: Custom needs path, format and figures; or write preset: Pyworker or VLLM',
          reason: 'FieldValueRequired',
        },
      ],
    }),
  );

const staticLoad = z
  .object({
    load: decimal({ description: 'Work that arrives, in units per second.', example: '"900"' }).default('0'),
    queue: decimal({ description: 'Work that waits, in units.', example: '"3000"' }).default('0'),
  })
  .meta(
    notes({
      description: 'A load that is written down; the annotation `gpurental.dev/static-load` overrides it.',
    }),
  );

const query = (description: string, example: string) => text({ description, example, maxLength: 4096 });

const prometheus = z
  .object({
    loadQuery: query(
      'Query for the arriving work, in units per second.',
      'sum(rate(gateway_tokens_total{route="llm"}[1m]))',
    ),
    queueQuery: query(
      'Query for the waiting work, in units.',
      'sum(gateway_waiting_tokens{route="llm"})',
    ).optional(),
    rejectedQuery: query(
      'Query for the rejected work, in units per second.',
      'sum(rate(gateway_rejected_tokens[1m]))',
    ).optional(),
  })
  .meta(notes({ description: "Queries to the Prometheus that the operator's `--prometheus-url` names." }));

/** The type of each field, and whether the presence of the field implies the type. */
const FIELDS = [
  { field: 'static', type: 'Static', isImplied: false },
  { field: 'httpPull', type: 'HTTPPull', isImplied: true },
  { field: 'prometheus', type: 'Prometheus', isImplied: false },
] as const;

/** Source of a group's load. */
export const loadSource = z
  .object({
    type: choice(['HTTPPull', 'Static', 'Push', 'Prometheus', 'Gateway'], {
      description:
        'HTTPPull: the operator requests it from each worker. Static: it is set here. Push: workers report it to the operator. Prometheus: queries return it, even while no worker runs. Gateway: the gateway counts it, even while no worker runs. Default: Gateway if `gateway` is enabled and `httpPull` is not set, else HTTPPull.',
    }).optional(),
    static: staticLoad.optional(),
    httpPull: httpPull.optional(),
    prometheus: prometheus.optional(),
  })
  .meta(
    notes({
      description: 'Source of the load.',
      rules: [
        ...FIELDS.map(({ field, type, isImplied }) => ({
          rule: `!has(self.${field}) || ${isImplied ? '!has(self.type) ||' : 'has(self.type) &&'} self.type == '${type}'`,
          message: `${field} belongs to type: ${type}: write that, or leave ${field} out`,
          fieldPath: `.${field}`,
          reason: 'FieldValueForbidden' as const,
        })),
        {
          rule: "!has(self.type) || self.type != 'Prometheus' || has(self.prometheus)",
          message: 'type: Prometheus needs prometheus.loadQuery',
          fieldPath: '.prometheus',
          reason: 'FieldValueRequired',
        },
      ],
    }),
  );

export type LoadSource = z.output<typeof loadSource>;
type LoadType = NonNullable<LoadSource['type']>;

/** The fields of a group that determine the source of its load. */
export interface LoadTyped {
  readonly load: Pick<LoadSource, 'type' | 'httpPull'>;
  readonly gateway?: { readonly enabled: boolean } | undefined;
}

/** Returns the source of a group's load: the written one, else its gateway, else the workers. */
export function loadTypeOf({ load, gateway }: LoadTyped): LoadType {
  if (load.type !== undefined) return load.type;
  return gateway?.enabled === true && load.httpPull === undefined ? 'Gateway' : 'HTTPPull';
}
