import * as z from 'zod';
import { objectName, workerPort } from './core.ts';
import { choice, duration, flag, integer, notes } from './schema.ts';

/** How `gpu-rent endpoint-picker` serves the requests of a group. */
export const gatewaySpec = z
  .object({
    enabled: flag({ description: 'Whether the gateway serves this group.' }).default(true),
    hold: duration({
      description:
        'The longest a request waits for a worker, before it is answered 503. Clients should wait longer.',
      min: '1s',
      max: '55m',
    }).default('10m'),
    maxHeld: integer({
      description: 'The most requests that wait in one picker; more are answered 503.',
      min: 0,
      max: 100_000,
    }).default(1000),
    work: choice(['Requests', 'OpenAITokens', 'Header'], {
      description:
        'What a request counts as, in units of expectedPerf. Requests: 1. OpenAITokens: the tokens of a request of the OpenAI API, estimated by its body and corrected by the usage in its response, and 1 of any other. Header: the decimal in its header x-gpurental-work, and 1 without it.',
    }).default('Requests'),
    routing: choice(['LeastWait', 'Session'], {
      description:
        'Which worker a request goes to. LeastWait: the one that will have done it first. Session: the one that had the session before, which is named by the header x-gpurental-session, else x-session-id, while it accepts requests; then another one becomes its worker.',
    }).default('LeastWait'),
    link: choice(['TLS', 'Plain'], {
      description:
        'How requests travel to a worker. TLS: each proves to the other who it is, by a certificate that the operator issues; the worker gets its own in GPURENTAL_TLS_CERT, _KEY and _CA. Plain: without encryption. Workers made for another link are replaced.',
    }).default('Plain'),
    keys: z
      .object({
        secretName: objectName(
          'A Secret in the namespace of this object. Each key of its data is the name of a caller, its value the hexadecimal SHA-256 of the bearer key of that caller; several, one a line.',
        ),
      })
      .meta(notes({ description: 'Who may call; everyone who reaches the gateway when left out.' }))
      .optional(),
    publish: choice(['FileDiscovery'], {
      description:
        'Lists the ready workers for another router, whether the gateway is enabled or not. FileDiscovery: in the ConfigMap NAME-endpoints, under endpoints.json, in the format of the file discovery of llm-d-router. Left out, there is no list.',
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
        'One URL for the group: requests wait while workers start, and each goes to the worker that has the least to do. Needs `gpu-rent endpoint-picker` and Envoy.',
    }),
  );
