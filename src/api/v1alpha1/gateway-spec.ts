import * as z from 'zod';
import { objectName, workerPort } from './core.ts';
import { choice, duration, flag, integer, list, notes, text } from './schema.ts';

const MEBIBYTES_PATTERN = '^[1-9][0-9]{0,5}(Mi|Gi)$';

/** Origins, methods and headers that browsers may use from pages of other sites. */
const cors = z
  .object({
    allowOrigins: list(
      text({
        description: 'An origin, or `*`.',
        example: 'https://app.example.com',
        maxLength: 253,
        pattern: '^([*]|https?://[^/*, ]+)$',
        write: 'write an origin such as https://app.example.com, without a path, or * for all',
      }),
      {
        description: 'Origins of the pages that may call; `*` allows all.',
        example: '[https://app.example.com]',
        max: 32,
        list: { type: 'set' },
      },
    ),
    allowMethods: list(
      choice(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], { description: 'A method.' }),
      {
        description: 'Methods that pages may use.',
        max: 6,
        list: { type: 'set' },
      },
    ).default(['GET', 'POST']),
    allowHeaders: list(
      text({
        description: 'Name of a header, or `*`.',
        example: 'authorization',
        maxLength: 128,
        pattern: '^[-A-Za-z0-9_*]+$',
        write: 'write the name of a header such as authorization, or * for all',
      }),
      {
        description: 'Request headers that pages may send; `*` allows all, `authorization` too.',
        max: 64,
        list: { type: 'set' },
      },
    ).default(['*']),
    maxAge: duration({
      description: 'Time for which a browser may keep the answer to a preflight.',
      max: '24h',
    }).default('10m'),
  })
  .meta(
    notes({
      description:
        'Calls from web pages. The gateway answers preflights itself, also without a worker, and sets the headers of CORS on each response. If left out, preflights are forwarded to a ready worker like any OPTIONS request, and wake none.',
    }),
  );

/** Settings of `gpu-rent endpoint-picker` for the requests of a group. */
export const gatewaySpec = z
  .object({
    enabled: flag({ description: 'True if the gateway serves this group.' }).default(true),
    hold: duration({
      description:
        'The longest a request waits for a worker, before it is answered 503. Clients should wait longer.',
      min: '1s',
      max: '55m',
    }).default('10m'),
    maxHeld: integer({
      description:
        'Maximum number of requests that wait in one picker; it answers further requests with 503.',
      min: 0,
      max: 100_000,
    }).default(1000),
    maxHeldPerClient: integer({
      description:
        'Maximum number of requests of one client that wait in one picker; it answers further requests with 503. A client is a caller of spec.gateway.keys, or an address if there are no keys. By default one client may fill maxHeld while no other client waits.',
      example: '50',
      min: 1,
      max: 100_000,
    }).optional(),
    maxHeldBytes: text({
      description:
        'Maximum memory for requests that wait in one picker: 64 KiB each, and up to 128 KiB of its body. Above it the newest request of the client with the most memory gets 503.',
      form: 'quantity',
      example: '200Mi',
      maxLength: 8,
      pattern: MEBIBYTES_PATTERN,
      write: 'write a size such as 200Mi or 1Gi',
    }).default('200Mi'),
    work: choice(['Requests', 'OpenAITokens', 'Header'], {
      description:
        'Work of a request, in units of expectedPerf. Requests: 1. OpenAITokens: the tokens of a request of the OpenAI API, estimated by its body and corrected by the usage in its response, and 1 of any other. Header: the decimal in its header x-gpurental-work, at least 0.01, if the caller is one of trustedCallers; else 1.',
    }).default('Requests'),
    trustedCallers: list(
      text({
        description: 'Name of a caller in spec.gateway.keys, or `*`.',
        example: 'scheduler',
        maxLength: 253,
      }),
      {
        example: '[scheduler]',
        description:
          'Callers whose header x-gpurental-work counts, by their names in spec.gateway.keys; `*` trusts all; by default none is trusted. A caller that understates its work gets more than its share, and overloads a worker.',
        max: 64,
        list: { type: 'set' },
      },
    ).optional(),
    retries: choice(['Idempotent', 'All', 'None'], {
      description:
        'Requests that are retried on another worker, at most twice and never after the response began. Except with None, a request is retried if the connection failed before the worker received it. After 503, Idempotent retries GET, HEAD, OPTIONS, PUT and DELETE. All also retries POST and PATCH, which the worker may have begun.',
    }).default('Idempotent'),
    quietPaths: list(
      text({
        description: 'A path as the worker sees it.',
        example: '/health',
        maxLength: 256,
        pattern: '^/[^?# ]*$',
        write: 'write a path such as /health, without query',
      }),
      {
        description:
          'Paths of requests without work, such as health checks. A GET of such a path, and each HEAD and OPTIONS request, goes to a ready worker, or gets 503 immediately if there is none. It starts no worker and counts as no load.',
        max: 32,
        list: { type: 'set' },
      },
    ).default(['/health', '/healthz', '/livez', '/readyz', '/ping', '/metrics']),
    cors: cors.optional(),
    routing: choice(['LeastWait', 'Session'], {
      description:
        'Choice of the worker. LeastWait: the worker expected to finish the request first. Session: the worker of the session that the header x-gpurental-session, else x-session-id, names. If that worker accepts no requests, another one replaces it.',
    }).default('LeastWait'),
    link: choice(['TLS', 'Plain'], {
      description:
        'Encryption between gateway and worker. TLS: both sides prove their identity by a certificate that the operator issues; the worker gets its own in GPURENTAL_TLS_CERT, _KEY and _CA. Plain: no encryption. Workers of another link are replaced.',
    }).default('Plain'),
    keys: z
      .object({
        secretName: objectName(
          'A Secret in the namespace of this object. Each key of its data is the name of a caller, its value the hexadecimal SHA-256 of the bearer key of that caller; several, one a line.',
        ),
      })
      .meta(notes({ description: 'Allowed callers; by default every client of the gateway.' }))
      .optional(),
    publish: choice(['FileDiscovery'], {
      description:
        'Lists the ready workers for another router, whether the gateway is enabled or not. FileDiscovery: in the ConfigMap NAME-endpoints, under endpoints.json, in the format of the file discovery of llm-d-router. If left out, there is no list.',
    }).optional(),
    port: workerPort
      .meta(
        notes({
          description:
            'The port of the worker that serves, by name or number; the first TCP port of the template when left out.',
          example: 'http',
        }),
      )
      .optional(),
  })
  .meta(
    notes({
      description:
        'One URL for the group: requests wait while workers start, and each goes to the worker with the shortest wait. Needs `gpu-rent endpoint-picker` and Envoy.',
    }),
  );
