import { deepStrictEqual } from 'node:assert';
import { outputInLog, resultInFiles, resultInLog } from '../../../src/instance/run-result.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { TransportResponse } from '../../../src/lib/transport.ts';
import {
  type CallContext,
  classifyFailure,
  UnreadableBody,
} from '../../../src/markets/vast/errors/classify-failure.ts';
import { ListBody, parseReply } from '../../../src/markets/vast/http/reply-body.ts';
import { instanceRows, instancesReply } from '../../../src/markets/vast/instances/instance.ts';
import { chunksOf } from '../chunks.ts';
import { replyOf } from '../http-text.ts';
import { type FuzzTarget, jsonOrNothing, refusing, sane, soundFields } from '../target.ts';
import { INSTANCE } from './marketplace-rows.ts';

const response = (text: string): TransportResponse => ({
  status: 200,
  headers: {},
  body: chunksOf(text),
  destroy() {},
});

/** Rows read while the body arrives have to be those that one parse of the whole gives. */
async function readRows(text: string): Promise<readonly string[]> {
  const list = new ListBody(instanceRows);
  const { body, unreadable } = await list.read(response(text), { maxBytes: 1_000_000, clock: systemClock });
  if (unreadable !== undefined) return [unreadable];
  const reply = parseReply({ status: 200, body }, instancesReply);
  if (reply.type === 'understood') sameRows(text, list.rows);
  return [reply.type === 'unreadable' ? reply.reason : `${reply.type} ${Math.min(list.rows.length, 3)}`];
}

function sameRows(text: string, rows: readonly unknown[]): void {
  const whole = jsonOrNothing(text);
  const given: unknown = Object(whole).instances;
  if (!Array.isArray(given)) throw new Error('rows came out of a reply that holds none');
  deepStrictEqual(
    rows,
    given.map((row) => instanceRows.row.parse(row)),
  );
}

const AREAS = ['tfa', 'rent', 'search', 'instances', 'volumes', 'groups', 'account', 'any'] as const;
const NOW = 1_767_614_400_000;
const CONTEXTS: readonly CallContext[] = AREAS.flatMap((area) =>
  (['read', 'write'] as const).map((effect) => ({ operation: 'try a call', area, effect, now: NOW })),
);
/** Maximum wait, whatever the service requests. */
const A_DAY_MS = 86_400_000;

function classify(text: string): readonly string[] {
  const reply = replyOf(text);
  return CONTEXTS.map((context) => {
    const error = classifyFailure(reply, context);
    soundFields(error, ['lockedUntil']);
    const { kind, outcome, retryAfterMs = 0 } = error;
    if (retryAfterMs < 0 || retryAfterMs > A_DAY_MS) throw new Error(`a rest of ${retryAfterMs} ms`);
    if (context.area === 'rent' && error.instanceId !== undefined && outcome !== 'unknown')
      throw new Error('a failure that names a machine is said to have made none');
    return `${context.area} ${context.effect}: ${kind} ${outcome}`;
  });
}

const NONCE = 'k3v9x0q2m7ab';

/** Reads a text as the log of a machine, and as a list of its files. */
function readResult(text: string): readonly string[] {
  const logged = resultInLog(text, NONCE);
  const listed = resultInFiles(text, NONCE);
  for (const code of [logged?.exitCode, listed]) {
    sane(code);
    if (code !== undefined && (code > 255 || !text.includes(NONCE))) throw new Error(`exit code ${code}`);
  }
  const parts = [logged?.log, outputInLog(text, NONCE).log];
  if (parts.some((part) => part !== undefined && !text.includes(part)))
    throw new Error('a line was invented');
  return [`log ${logged?.isWhole}`, listed === undefined ? 'no file' : 'file'];
}

/** Bodies and heads of replies of the marketplace, before anything is known of their words, and texts of a machine. */
export const REPLY_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'list-body',
    seeds: [
      `{"instances_found":2,"instances":[${INSTANCE},{"id":8,"label":"]}\\"","ports":{"a":[[{}]]}}],"more":[[]]}`,
      '{"success":true,"instances":[],"instances_found":0}',
      '{"success":false,"msg":"no"}',
    ],
    run: refusing([UnreadableBody], readRows),
  },
  {
    name: 'failed-reply',
    seeds: [
      '429\nRetry-After: 12\nDate: Sat, 21 Nov 2026 13:00:00 GMT\n\n{"success":false,"error":"too_many_requests","msg":"slow down"}',
      '429\nRetry-After: Sat, 21 Nov 2026 13:01:00 GMT\nDate: Sat, 21 Nov 2026 13:00:00 GMT\n\nplain text',
      '429\nX-RateLimit-Reset: 1795266060\n\n{"error":"api_daily_limit_exceeded","msg":"quota"}',
      '423\n\n{"error":"method_locked","msg":"locked","fail_count":3,"locked_until":1767614500}',
      '500\n\n{"error":"x","msg":"y","new_contract":12}',
      '404\n\n{"detail":"Invalid user key"}',
      '400\n\n{"error":"no_such_ask","error_msg":"gone"}',
    ],
    run: classify,
  },
  {
    name: 'run-result',
    seeds: [
      `set-up\n\ngpurental ${NONCE} start 2\nstep 1\nstep 2\n\ngpurental ${NONCE} exit 7\n`,
      `step 1\r\ngpurental ${NONCE} exit 0\r\n\r\ngpurental ${NONCE} exit 0\r\n`,
      `total 4\n-rw-r--r-- 1 root root 0 Nov 30 05:00 exit.143.${NONCE}\n`,
    ],
    run: readResult,
  },
];
