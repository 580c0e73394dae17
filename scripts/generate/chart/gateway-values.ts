import { ENVOY_IMAGE } from './envoy-image.ts';
import { type ChartValues, group, schemas, value } from './value-tree.ts';

/** The gateway of EndpointGroups: pickers, and an Envoy beside each. */
export const gatewayValues: ChartValues = {
  gateway: group(
    'A gateway in front of EndpointGroups with `spec.gateway`: Pods of a picker and Envoy behind one Service. The operator then takes the reports of its pickers. See docs/how-to/gateway.md.',
    {
      enabled: value('', false, schemas.flag),
      existingGateway: value(
        'Runs one picker alone, whose gRPC services an Envoy of yours calls at the port `grpc` of the Service. They take no password: let that Envoy alone reach them, by `networkPolicy.gatewayFrom`.',
        false,
        schemas.flag,
      ),
      replicas: value('Each holds the requests that it received.', 2, {
        type: 'integer',
        minimum: 0,
        maximum: 64,
      }),
      secrets: value(
        'What pickers may read, by name: Secrets of `spec.gateway.keys`, and `NAME-gateway-client` of groups with `link: TLS`. For example `{namespace: team-a, names: [llm-callers, llm-gateway-client]}`; a Role in each namespace.',
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
      service: group('Where clients call.', {
        type: value('', 'ClusterIP', { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] }),
        port: value('', 80, schemas.port),
        annotations: value('', {}, schemas.stringMap),
      }),
      envoy: group('', {
        image: group('1.39 or newer.', {
          registry: value(
            'Replaced by `global.imageRegistry` if that is set.',
            ENVOY_IMAGE.registry,
            schemas.text,
          ),
          repository: value('', ENVOY_IMAGE.repository, { type: 'string', minLength: 1 }),
          tag: value('Read only where `digest` is empty.', ENVOY_IMAGE.tag, {
            type: 'string',
            minLength: 1,
          }),
          digest: value(`Of ${ENVOY_IMAGE.tag}, for all architectures.`, ENVOY_IMAGE.digest, {
            type: 'string',
            pattern: '^(sha256:[0-9a-f]{64})?$',
          }),
        }),
        concurrency: value('Threads of Envoy; it would take one for each core of the node.', 2, {
          type: 'integer',
          minimum: 1,
        }),
        maxHeapMiB: value(
          'Heap in MiB at which Envoy has refused new requests and reset the streams with the largest buffers. Three quarters of its memory limit.',
          384,
          { type: 'integer', minimum: 64 },
        ),
        idleTimeoutSeconds: value(
          'Idle time after which Envoy closes a connection of a client. Keep it above the one of a load balancer in front.',
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
        'Of the picker.',
        {
          requests: { cpu: '50m', memory: '128Mi', 'ephemeral-storage': '16Mi' },
          limits: { memory: '384Mi', 'ephemeral-storage': '64Mi' },
        },
        schemas.object,
      ),
      maxHeldMemory: value(
        'Memory of Envoy and picker for requests that wait. Two thirds of `gateway.envoy.maxHeapMiB`.',
        '256Mi',
        { type: 'string', pattern: '^[1-9][0-9]*(Mi|Gi)$' },
      ),
      trustedHops: value(
        'Proxies in front of the gateway that append to `x-forwarded-for`: by it clients without keys are known.',
        0,
        { type: 'integer', minimum: 0, maximum: 8 },
      ),
      shutdownGraceSeconds: value(
        'How long requests that were begun may go on while a Pod ends; the Pod has 30 s more.',
        600,
        { type: 'integer', minimum: 0, maximum: 3600 },
      ),
      extraArgs: value(
        'More flags of `gpu-rent endpoint-picker`, such as `--drain-delay=15s` where a load balancer is slow to learn of Pods that end.',
        [],
        { type: 'array', items: { type: 'string', pattern: '^--[a-z]' } },
      ),
    },
  ),
};
