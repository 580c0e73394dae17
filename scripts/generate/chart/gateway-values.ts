import { ENVOY_IMAGE } from './envoy-image.ts';
import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** The gateway of EndpointGroups: pickers, and an Envoy beside each. */
export const gatewayValues: ChartValues = {
  gateway: group(
    'Gateway for EndpointGroups with `spec.gateway`: Pods with Envoy and an endpoint picker, behind one Service. The operator accepts load reports from these pickers. See docs/how-to/gateway.md.',
    {
      enabled: value('', false, schemas.flag),
      existingGateway: value(
        'Run the picker without Envoy; your own Envoy calls its gRPC services on the port `grpc` of the Service. They require no password, so permit only that Envoy with `networkPolicy.gatewayFrom`.',
        false,
        schemas.flag,
      ),
      replicas: value('Number of gateway Pods. Each Pod queues the requests that it received.', 2, {
        type: 'integer',
        minimum: 0,
        maximum: 64,
      }),
      secrets: value(
        'Secrets that pickers may read: those of `spec.gateway.keys`, and `NAME-gateway-client` of groups with `link: TLS`. Example: `{namespace: team-a, names: [llm-callers, llm-gateway-client]}`. The chart creates a Role in each namespace.',
        [],
        {
          type: 'array',
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['namespace', 'names'],
            properties: {
              namespace: { type: 'string', minLength: 1 },
              names: { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 } },
            },
          },
        },
      ),
      service: group('Service that clients call.', {
        type: value('', 'ClusterIP', { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] }),
        port: value('', 80, schemas.port),
        annotations: value('', {}, schemas.stringMap),
      }),
      envoy: group('', {
        image: group('Image of Envoy 1.39 or newer.', {
          registry: value(
            'Replaced by `global.imageRegistry` if that is set.',
            ENVOY_IMAGE.registry,
            schemas.text,
          ),
          repository: value('', ENVOY_IMAGE.repository, { type: 'string', minLength: 1 }),
          tag: value('Used only if `digest` is empty.', ENVOY_IMAGE.tag, {
            type: 'string',
            minLength: 1,
          }),
          digest: value(`Digest of ${ENVOY_IMAGE.tag}, for all architectures.`, ENVOY_IMAGE.digest, {
            type: 'string',
            pattern: '^(sha256:[0-9a-f]{64})?$',
          }),
        }),
        concurrency: value(
          'Number of Envoy worker threads. Default of Envoy: one for each core of the node.',
          2,
          {
            type: 'integer',
            minimum: 1,
          },
        ),
        maxHeapMiB: value(
          'Maximum heap of Envoy in MiB. Near it Envoy refuses new requests and resets the streams with the largest buffers. Use three quarters of the memory limit.',
          384,
          { type: 'integer', minimum: 64 },
        ),
        idleTimeoutSeconds: value(
          'Seconds without a request after which Envoy closes a client connection. Must be longer than the idle timeout of a load balancer in front.',
          300,
          { type: 'integer', minimum: 1, maximum: 3600 },
        ),
        resources: value(
          '',
          {
            requests: { cpu: '50m', memory: '96Mi', 'ephemeral-storage': '16Mi' },
            limits: { memory: '512Mi', 'ephemeral-storage': '64Mi' },
          },
          schemas.object,
        ),
      }),
      resources: value(
        'Resources of the picker.',
        {
          requests: { cpu: '50m', memory: '128Mi', 'ephemeral-storage': '16Mi' },
          limits: { memory: '384Mi', 'ephemeral-storage': '64Mi' },
        },
        schemas.object,
      ),
      maxHeldMemory: value(
        'Memory for queued requests in Envoy and picker. Use two thirds of `gateway.envoy.maxHeapMiB`.',
        '256Mi',
        { type: 'string', pattern: '^[1-9][0-9]*(Mi|Gi)$' },
      ),
      trustedHops: value(
        'Number of proxies in front of the gateway that append to `x-forwarded-for`. The gateway reads the address of a client without a key from this header.',
        0,
        { type: 'integer', minimum: 0, maximum: 8 },
      ),
      shutdownGraceSeconds: value(
        'Seconds that running requests may take to finish when a Pod ends. The Pod is killed 30 s later.',
        600,
        { type: 'integer', minimum: 0, maximum: 3600 },
      ),
      extraArgs: value(
        'Additional flags of `gpu-rent endpoint-picker`, for example `--drain-delay=15s` for a load balancer that notices terminating Pods late.',
        [],
        { type: 'array', items: { type: 'string', pattern: '^--[a-z]' } },
      ),
    },
  ),
};
