import { Agent, request } from 'undici';
import type { Credential } from './connection.ts';

export interface AdminReply {
  readonly status: number;
  /** JSON body, or the text if it is not JSON. */
  readonly body: unknown;
}

export interface AdminRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with query. */
  readonly path: string;
  readonly body?: unknown;
  /** Default `application/json`; a PATCH without one is a merge patch. */
  readonly contentType?: string;
  /** Statuses besides 2xx that are no error. */
  readonly accept?: readonly number[];
}

/**
 * Requests to the API server that share no code with the operator, so that a mistake in its client cannot hide
 * behind itself.
 */
export interface AdminClient {
  /** Rejects on a status that is neither 2xx nor accepted, with the API server's message. */
  request(request: AdminRequest): Promise<AdminReply>;
  /** Gives up what is still under way. */
  close(): Promise<void>;
}

export interface AdminTarget {
  readonly url: string;
  readonly caPem: string;
  readonly credential: Credential;
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function messageOf(body: unknown): string {
  const isStatus = typeof body === 'object' && body !== null && 'message' in body;
  return isStatus ? String(body.message) : JSON.stringify(body);
}

export function openAdminClient({ url, caPem, credential }: AdminTarget): AdminClient {
  const certificate =
    credential.type === 'certificate' ? { cert: credential.certificatePem, key: credential.keyPem } : {};
  const agent = new Agent({ connect: { ca: caPem, ...certificate } });
  const authorization = credential.type === 'token' ? { authorization: `Bearer ${credential.token}` } : {};
  return {
    async request({ method, path, body, contentType, accept = [] }) {
      const type = contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
      const reply = await request(`${url}${path}`, {
        method,
        dispatcher: agent,
        headers: { ...authorization, ...(body === undefined ? {} : { 'content-type': type }) },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const status = reply.statusCode;
      const answer = parseBody(await reply.body.text());
      if (status >= 300 && !accept.includes(status)) {
        throw new Error(`${method} ${path}: ${status} ${messageOf(answer)}`);
      }
      return { status, body: answer };
    },
    close: () => agent.destroy(),
  };
}
