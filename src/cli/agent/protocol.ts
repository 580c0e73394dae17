import { Transform, type Writable } from 'node:stream';
import { sleep, systemClock } from '../../lib/clock.ts';
import type { CommandContext } from '../command.ts';
import type { AgentServer } from './agent-server.ts';
import { outcomeSchema, TOOL_NAMES } from './contract.ts';
import { inputSchema, jsonSchemaOf, tools } from './tools.ts';

/** Streams and life of a server. */
interface Serving extends Pick<CommandContext, 'stdin' | 'stdout' | 'signal'> {
  readonly version: string;
}

/** Time for calls under way after the input ended. */
const LAST_CALLS_MS = 5_000;

const INSTRUCTIONS =
  'Rents GPU machines, which cost money until they end. Call plan first. Give every run its own idempotencyKey and low ceilings (maxPrice, maxCost, maxLifetime). Call stop for everything that you began. On ok: false read reason and message, and follow nextAction; repeat a call only if retryable is true.';

/**
 * Serves the tools of a server by the Model Context Protocol until the input ends or `signal` is aborted. Calls under way
 * have five seconds after the end of the input. Rejects if a message is too long.
 */
export async function serve(
  agentServer: AgentServer,
  { version, stdin, stdout, signal }: Serving,
): Promise<void> {
  const [{ Server }, { StdioServerTransport }, { CallToolRequestSchema, ListToolsRequestSchema }] =
    await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
  const server = new Server(
    { name: 'gpu-rent', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  const outputSchema = jsonSchemaOf(outcomeSchema);
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: TOOL_NAMES.map((name) => ({
      name,
      description: tools[name].description,
      inputSchema: inputSchema(name) as { type: 'object' },
      outputSchema: outputSchema as { type: 'object' },
      annotations: {
        readOnlyHint: tools[name].reads,
        destructiveHint: name === 'stop',
        idempotentHint: true,
      },
    })),
  }));
  const open = new Set<Promise<unknown>>();
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const call = agentServer.call(params.name, params.arguments);
    open.add(call);
    const outcome = await call.finally(() => open.delete(call));
    return {
      content: [{ type: 'text', text: JSON.stringify(outcome) }],
      structuredContent: outcome,
      isError: !outcome.ok,
    };
  });
  const input = boundedLines();
  const ended = new Promise<void>((resolve, reject) => {
    input.once('end', resolve).once('error', reject);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  stdin.pipe(input);
  await server.connect(new StdioServerTransport(input, stdout as Writable));
  await ended;
  if (!signal.aborted) await Promise.race([Promise.allSettled(open), sleep(systemClock, LAST_CALLS_MS)]);
  // The transport writes an answer after its call has settled.
  await new Promise((resolve) => setImmediate(resolve));
  await server.close();
}

/** Maximum bytes of one message. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** Returns a stream that passes bytes on, and fails at a line of more than {@link MAX_LINE_BYTES}. */
function boundedLines(): Transform {
  let length = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const last = chunk.lastIndexOf(0x0a);
      length = last < 0 ? length + chunk.length : chunk.length - last - 1;
      if (length > MAX_LINE_BYTES) done(new Error(`A message is longer than ${MAX_LINE_BYTES} bytes.`));
      else done(null, chunk);
    },
  });
}
