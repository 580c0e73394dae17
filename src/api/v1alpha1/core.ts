import * as z from 'zod';
import { MAX_IDENTITY_PORT, MAX_PORT, MIN_IDENTITY_PORT } from './identity-port.ts';
import { RESERVED_ENV_PREFIX } from './names.ts';
import { choice, flag, integer, line, list, notes, text } from './schema.ts';

const DNS_SUBDOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';

/** Returns the schema of the name of another object in the same namespace. */
export function objectName(description: string): z.ZodString {
  return text({
    description,
    example: 'my-secret',
    maxLength: 253,
    pattern: DNS_SUBDOMAIN,
    write: 'write the name of an object: lower case letters, digits, "-" and "."',
  });
}

/** Returns the schema of a namespace's name. */
export function namespaceName(description: string): z.ZodString {
  return text({
    description,
    example: 'team-a',
    maxLength: 63,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    write: 'write the name of a namespace: lower case letters, digits and "-"',
  });
}

/** Returns the schema of a key in a Secret's data. */
export function secretKey(description: string): z.ZodString {
  return text({
    description,
    example: 'token',
    maxLength: 253,
    pattern: '^[-._a-zA-Z0-9]+$',
    write: 'write a key of the Secret: letters, digits, "-", "_" and "."',
  });
}

const secretKeySelector = z.object({
  name: objectName('The Secret, in the namespace of this object.'),
  key: secretKey('The key in the Secret.'),
  optional: flag({
    description: 'True if the Secret or its key may be missing.',
    example: 'true',
  }).optional(),
});

/** A value in a Secret of the object's own namespace. */
export const secretSource = z
  .object({
    secretKeyRef: secretKeySelector.meta(notes({ description: 'A key of a Secret.', atomic: true })),
  })
  .meta(notes({ description: 'Source of the value.' }));

export const envVar = z
  .object({
    name: text({
      description: 'The variable in the container.',
      example: 'HF_TOKEN',
      maxLength: 128,
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      write: 'write a variable name: letters, digits and "_", not beginning with a digit',
      rules: [
        {
          rule: `!self.startsWith('${RESERVED_ENV_PREFIX}') && self != 'CONTAINER_API_KEY'`,
          message: `choose another name: ${RESERVED_ENV_PREFIX}* and CONTAINER_API_KEY are set for you`,
          reason: 'FieldValueForbidden',
        },
      ],
    }),
    value: z
      .string()
      .max(32_768)
      .meta(notes({ description: 'The value itself.', example: '"1"' }))
      .optional(),
    valueFrom: secretSource.optional(),
  })
  .meta(
    notes({
      description: 'An environment variable, as in a Pod.',
      rules: [
        {
          rule: '!(has(self.value) && has(self.valueFrom))',
          message: 'write value or valueFrom, not both',
          fieldPath: '.valueFrom',
          reason: 'FieldValueForbidden',
        },
      ],
    }),
  );

export const containerPort = z
  .object({
    name: text({
      description: 'A name for the port, used by probes, the Service and load sources.',
      example: 'http',
      maxLength: 15,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      write: 'write a port name: at most 15 lower case letters, digits and "-"',
    }).optional(),
    containerPort: integer({
      description:
        'The port inside the container. From 70000 to 79999 an identity port: the marketplace chooses one number for inside and outside at each rental, which the container reads in `VAST_TCP_PORT_70000` and `status.ports` shows. The Service does not open it.',
      example: '8080',
      min: 1,
      max: MAX_IDENTITY_PORT,
      rules: [
        {
          rule: `self <= ${MAX_PORT} || self >= ${MIN_IDENTITY_PORT}`,
          message: `write a port from 1 to ${MAX_PORT}, or from ${MIN_IDENTITY_PORT} to ${MAX_IDENTITY_PORT} for one number inside and outside`,
        },
      ],
    }),
    protocol: choice(['TCP', 'UDP'], { description: 'The transport protocol.' }).default('TCP'),
  })
  .meta(notes({ description: 'A port that the marketplace maps to a public one.' }));

const portReference = z.union([z.int(), z.string()]).meta({
  ...notes({
    description: 'A port of `ports`, by name or number; 22 if `ssh` is true.',
    example: 'http',
    rules: [
      {
        rule: `type(self) == int ? (self >= 1 && self <= 65535) : self.matches('^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$')`,
        message: 'write a port number between 1 and 65535, or the name of a port',
      },
    ],
  }),
  maxLength: 15,
  'x-kubernetes-int-or-string': true,
});

/** Characters that a request line may contain; all others must be percent-encoded. */
const REQUEST_PATH = {
  maxLength: 1024,
  pattern: '^/[!-~]*$',
  write: 'write a path that begins with "/"; percent-encode spaces and characters outside ASCII',
} as const;

/** Returns the schema of the path of an HTTP request, in its sent form. */
export function requestPath(description: string, example: string): z.ZodString {
  return text({ description, example, ...REQUEST_PATH });
}

/** Headers that frame a message or belong to the connection, in lower case: the HTTP client sets them. */
export const CONNECTION_HEADERS: readonly string[] = [
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

const HEADER_VALUE = '^[\\t\\x20-\\x7e\\x80-\\xff]*$';
const WRITE_HEADER_VALUE =
  'write a header value without line breaks, control characters or characters outside Latin-1; in YAML write value: "…", not value: |';

const httpHeader = z.object({
  name: text({
    description:
      'Name of the header. Connection headers, such as `Transfer-Encoding` and `Content-Length`, cannot be set.',
    example: 'X-Probe',
    maxLength: 128,
    pattern: '^[-A-Za-z0-9]+$',
    write: 'write a header name: letters, digits and "-"',
    rules: [
      {
        rule: `!(self.lowerAscii() in [${CONNECTION_HEADERS.map((name) => `'${name}'`).join(', ')}])`,
        message: 'choose another header: this one belongs to the connection and is set by the operator',
        reason: 'FieldValueForbidden',
      },
    ],
  }),
  value: line({
    description: 'Its value.',
    example: 'ready',
    maxLength: 1024,
    pattern: HEADER_VALUE,
    write: WRITE_HEADER_VALUE,
  }),
});

const httpGet = z
  .object({
    path: requestPath('Path of the request.', '/health').default('/'),
    port: portReference,
    scheme: choice(['HTTP', 'HTTPS'], {
      description:
        'Protocol; certificates are not verified. A worker of a gateway with link TLS is reached by mutual TLS in any case.',
    }).default('HTTP'),
    httpHeaders: list(httpHeader, {
      description: 'Headers to send.',
      example: '[{name: X-Probe, value: ready}]',
      max: 16,
      list: { type: 'atomic' },
    }).optional(),
  })
  .meta(notes({ description: 'Ready when a GET answers 200 to 399.' }));

const tcpSocket = z
  .object({ port: portReference })
  .meta(notes({ description: 'Ready when a connection opens.' }));

export const readinessProbe = z
  .object({
    httpGet: httpGet.optional(),
    tcpSocket: tcpSocket.optional(),
    initialDelaySeconds: integer({ description: 'Wait after the machine runs.', min: 0, max: 3600 }).default(
      0,
    ),
    periodSeconds: integer({ description: 'Time between probes.', min: 1, max: 3600 }).default(10),
    timeoutSeconds: integer({ description: 'Timeout of one probe.', min: 1, max: 60 }).default(5),
    successThreshold: integer({
      description: 'Successes in a row that make it ready.',
      min: 1,
      max: 10,
    }).default(1),
    failureThreshold: integer({
      description: 'Failures in a row that make it unready.',
      min: 1,
      max: 100,
    }).default(3),
  })
  .meta(
    notes({
      description:
        'Checks over its public port whether the machine serves. Without a probe, a running machine counts as ready.',
      rules: [
        {
          rule: '[has(self.httpGet), has(self.tcpSocket)].exists_one(set, set)',
          message: 'write exactly one of httpGet and tcpSocket',
        },
        {
          rule: 'self.timeoutSeconds <= self.periodSeconds',
          message: 'write a timeoutSeconds that is not above periodSeconds',
          fieldPath: '.timeoutSeconds',
        },
      ],
    }),
  );

/** A port of a worker, by name or number. */
export const workerPort = portReference;

const labelRequirement = z.object({
  key: text({ description: 'The label.', example: 'team', maxLength: 317 }),
  operator: choice(['In', 'NotIn', 'Exists', 'DoesNotExist'], { description: 'Comparison of the values.' }),
  values: list(z.string().max(63), {
    description: 'The values; none for Exists and DoesNotExist.',
    example: '[research]',
    max: 32,
    list: { type: 'atomic' },
  }).optional(),
});

export const labelSelector = z
  .object({
    matchLabels: z
      .record(z.string(), z.string())
      .meta(
        notes({ description: 'Labels that must be present with these values.', example: '{team: research}' }),
      )
      .optional(),
    matchExpressions: list(labelRequirement, {
      description: 'Requirements that must all hold.',
      example: '[{key: team, operator: In, values: [research]}]',
      max: 16,
      list: { type: 'atomic' },
    }).optional(),
  })
  .meta(notes({ description: 'Chooses namespaces by their labels.', atomic: true }));
