import { readFileSync } from 'node:fs';
import { z } from 'zod';

const auditEvent = z.object({
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  userAgent: z.string().optional(),
  user: z.object({ username: z.string() }),
  impersonatedUser: z.object({ username: z.string() }).optional(),
  objectRef: z
    .object({
      apiGroup: z.string().optional(),
      resource: z.string().optional(),
      subresource: z.string().optional(),
      namespace: z.string().optional(),
      name: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.number().optional() }).optional(),
  requestReceivedTimestamp: z.string(),
});

/** Request as the API server recorded it. A watch has two events: `ResponseStarted` and `ResponseComplete`. */
export type AuditEvent = z.infer<typeof auditEvent>;

/** Returns all requests of one user so far, in the order of their responses. */
export function readAuditLog(path: string, username: string): AuditEvent[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes(username))
    .map((line) => auditEvent.parse(JSON.parse(line)))
    .filter((event) => (event.impersonatedUser ?? event.user).username === username);
}
