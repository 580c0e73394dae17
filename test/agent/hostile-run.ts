import { isReason } from '../../src/api/v1alpha1/reasons.ts';
import type { Outcome } from '../../src/cli/agent/contract.ts';
import { serverReasons, TOOL_NAMES, type ToolName } from '../../src/cli/agent/contract.ts';
import { parseArguments } from '../../src/cli/agent/tools.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { HostileCalls, type KnownNames } from './hostile-calls.ts';
import { McpProcess } from './mcp-process.ts';

/** Plan of a run. */
export interface HostileRun {
  readonly calls: number;
  readonly seed: number;
  /** Arguments of each server; all of them serve one agent. */
  readonly servers: readonly (readonly string[])[];
  readonly env: Readonly<Record<string, string>>;
  readonly names: KnownNames;
  /** Mean number of calls between two kills (SIGKILL) of a server. Default: 150. */
  readonly killEvery?: number;
  /** The nextAction of one refusal in this number is called. Default: 4. */
  readonly followEvery?: number;
  /** Aborting it ends the run after the calls that are open. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number) => void;
}

/** Result of a run. */
export interface HostileResult {
  /** Calls that were sent, followed ones included. */
  readonly calls: number;
  readonly killed: number;
  /** Refusals whose nextAction was called. */
  readonly followed: number;
  /** Answers by reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /** Refusals that break the contract, each with its call. */
  readonly unreadable: readonly string[];
}

const WINDOW = 16;
/** Mean number of calls between two lines that are no messages. */
const GARBAGE_EVERY = 40;
const GARBAGE = [
  'not json',
  '[]',
  '{"jsonrpc":"2.0"}',
  '{"id":{}}',
  'null',
  '{"jsonrpc":"1.0","id":1,"method":5}',
];

/** Sends the seeded calls, in parallel, to all servers in turn, and kills the servers between them. */
export async function runHostile(plan: HostileRun): Promise<HostileResult> {
  const { killEvery = 150, followEvery = 4 } = plan;
  const random = seededRandom(plan.seed);
  const calls = new HostileCalls(random, plan.names);
  const servers = plan.servers.map((args) => new McpProcess({ args, env: plan.env }));
  await Promise.all(servers.map((server) => server.start()));
  const reasons: Record<string, number> = {};
  const unreadable: string[] = [];
  let [sent, killed, refused, followed] = [0, 0, 0, 0];
  const restarting = new Map<McpProcess, Promise<void>>();

  const judge = (outcome: Outcome, call: string): void => {
    reasons[outcome.reason] = (reasons[outcome.reason] ?? 0) + 1;
    const fault = faultOf(outcome);
    if (fault !== undefined) unreadable.push(`${call}: ${fault}: ${JSON.stringify(outcome).slice(0, 500)}`);
  };
  const follow = async (server: McpProcess, { reason, nextAction }: Outcome): Promise<void> => {
    if (nextAction === null || sent >= plan.calls) return;
    sent += 1;
    followed += 1;
    const reply = await server.call(nextAction.tool, nextAction.arguments);
    if (reply.type === 'unreadable') unreadable.push(`nextAction ${nextAction.tool}: ${reply.why}`);
    if (reply.type !== 'outcome') return;
    judge(reply.outcome, nextAction.tool);
    if (!reply.outcome.ok && reply.outcome.reason === reason)
      unreadable.push(`nextAction ${JSON.stringify(nextAction)} is refused with ${reason} again`);
  };
  const one = async (): Promise<void> => {
    const server = servers[Math.floor(random.next() * servers.length)] as McpProcess;
    const call = calls.next();
    const { tool, arguments: args } = call;
    const isGarbage = random.next() < 1 / GARBAGE_EVERY;
    const isKill = random.next() < 1 / killEvery;
    await restarting.get(server);
    if (sent >= plan.calls) return;
    if (isGarbage) server.sendRaw(GARBAGE[Math.floor(random.next() * GARBAGE.length)] ?? '');
    sent += 1;
    const answered = server.call(tool, args);
    if (isKill && !restarting.has(server)) {
      killed += 1;
      const again = server.killAndRestart().finally(() => restarting.delete(server));
      restarting.set(server, again);
      await again;
    }
    const reply = await answered;
    if (reply.type === 'killed') return;
    if (reply.type === 'unreadable') {
      unreadable.push(`${tool.slice(0, 30)}: ${reply.why}`);
      return;
    }
    judge(reply.outcome, `${tool.slice(0, 30)} ${JSON.stringify(args).slice(0, 200)}`);
    if (reply.outcome.ok && (tool === 'run' || tool === 'job')) calls.started(call);
    if (reply.outcome.ok) return;
    refused += 1;
    if (refused % followEvery === 0) await follow(server, reply.outcome);
  };
  const worker = async (): Promise<void> => {
    while (sent < plan.calls && !plan.signal?.aborted) {
      await one();
      plan.onProgress?.(sent);
    }
  };
  try {
    await Promise.all(Array.from({ length: WINDOW }, worker));
  } finally {
    await Promise.all(servers.map((server) => server.end()));
  }
  return { calls: sent, killed, followed, reasons, unreadable };
}

/** Returns how an answer breaks the contract; undefined if it does not. */
function faultOf({
  ok,
  reason,
  message,
  nextAction,
  retryAfterSeconds,
  retryable,
  data,
}: Outcome): string | undefined {
  if (!isReason(reason) && !Object.hasOwn(serverReasons, reason)) return 'its reason is in no table';
  if (message === '' || message.length > 1_100) return 'its message is empty or too long';
  // A control character could change the terminal or the prompt of the reader.
  if (/[\p{Cc}\p{Cf}]/u.test(message)) return 'its message has control characters';
  if (!ok && retryAfterSeconds !== undefined && !retryable && reason !== 'AtServerLimit')
    return 'it says when to retry in vain';
  if (Buffer.byteLength(JSON.stringify(data ?? null)) > 400_000) return 'its data is too large';
  if (nextAction === null) return undefined;
  if (!(TOOL_NAMES as readonly string[]).includes(nextAction.tool)) return 'its nextAction names no tool';
  const parsed = parseArguments(nextAction.tool as ToolName, nextAction.arguments);
  return 'faults' in parsed ? `its nextAction has wrong arguments: ${parsed.faults.join('; ')}` : undefined;
}
