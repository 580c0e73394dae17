import type { Transport } from '../../lib/transport.ts';
import { printable } from '../../views/printable.ts';

const MAX_BODY = 2_000;

/**
 * Shows each call and its reply on the wire: method, address, bodies. Keys, codes and other secrets are replaced; the
 * Authorization header is named and never shown. Calls reject like those of `transport`.
 */
export function explainingTransport(transport: Transport, print: (line: string) => void): Transport {
  return async (request) => {
    print(`> ${request.method} ${request.origin}${shownPath(request.path)}`);
    if (request.headers.authorization) print('> Authorization: Bearer [redacted]');
    if (request.body !== undefined) print(`> ${shownBody(request.body)}`);
    try {
      const response = await transport(request);
      // The reply passes through and is shown when its last byte has arrived.
      async function* body(): AsyncGenerator<Uint8Array> {
        const chunks: Uint8Array[] = [];
        let size = 0;
        for await (const chunk of response.body) {
          size += chunk.length;
          if (size <= 1_000_000) chunks.push(chunk);
          yield chunk;
        }
        const text = Buffer.concat(chunks).toString('utf8');
        print(`< ${response.status} ${request.method} ${shownPath(request.path)} (${size} bytes)`);
        if (text !== '') print(`< ${shownBody(text)}`);
      }
      return { ...response, body: body(), destroy: () => response.destroy() };
    } catch (error) {
      print(`< no reply: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  };
}

function shownPath(path: string): string {
  return path.replace(/(api_key=)[^&]*/g, '$1[redacted]');
}

function shownBody(text: string): string {
  const shown = printable(redactedBody(text));
  return shown.length <= MAX_BODY ? shown : `${shown.slice(0, MAX_BODY)}… (${shown.length} characters)`;
}

/** Names of fields with secrets in requests and replies of the service and in Kubernetes objects. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'api_key',
  'new_api_key',
  'instance_api_key',
  'session_key',
  'jupyter_token',
  'key',
  'value',
  'secret',
  'code',
  'backup_code',
  'backup_codes',
  'provisioning_uri',
  'image_login',
  'docker_login_pass',
  'mtoken',
  'signature',
  'password',
  'token',
]);

/** Free forms that may contain anything: only their size is shown. */
const PRIVATE_NAMES: ReadonlySet<string> = new Set(['onstart', 'env', 'extra_env', 'args', 'args_str']);

const REDACTED = '[redacted]';

/** Returns JSON text with its secrets replaced; other text only if it is short. */
export function redactedBody(text: string): string {
  try {
    return JSON.stringify(redactSecrets(JSON.parse(text)));
  } catch {
    return text.length <= 300 ? text : `[${text.length} characters that are no JSON]`;
  }
}

/** Returns the value with every secret replaced, by the names of fields. */
export function redactSecrets(value: unknown): unknown {
  if (typeof value === 'string') return withoutSignature(value);
  if (Array.isArray(value)) return value.map(redactSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactField(name, inner)]));
}

function redactField(name: string, value: unknown): unknown {
  if (value === null || value === undefined || value === '') return value;
  if (SECRET_NAMES.has(name)) return redactNamed(value);
  if (PRIVATE_NAMES.has(name)) return sizeOf(value);
  return redactSecrets(value);
}

/** Returns the text without the signatures of URLs, which anyone could use. */
function withoutSignature(text: string): string {
  return text.replace(/^(https?:\/\/[^?\s]*)\?\S*(?:signature|sig|token|api_key)=\S*$/i, `$1?${REDACTED}`);
}

/** `key` and `code` are also names of objects and numbers that are no secret. */
function redactNamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => REDACTED);
  return typeof value === 'object' ? redactSecrets(value) : REDACTED;
}

function sizeOf(value: unknown): unknown {
  if (typeof value === 'string') return `[${value.length} characters]`;
  if (Array.isArray(value)) return `[${value.length} entries]`;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.keys(value).map((name) => [name, REDACTED]));
}
