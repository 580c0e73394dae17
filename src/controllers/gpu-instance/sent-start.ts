import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import type { Launch } from '../../instance/launch.ts';
import { runText } from '../../instance/run-text.ts';
import { startText } from '../../instance/start-text.ts';
import type { MarketFacts } from '../../market/market.ts';
import type { ScriptFacts } from '../../market/rental.ts';
import { runNonce } from '../../ownership/run-nonce.ts';
import { deriveFacts } from './facts.ts';
import { type DesiredFuse, ONLY_OPERATOR } from './fuse.ts';
import type { Observed, RentalFuse } from './types.ts';

/** `onStart` and `args` as they are sent, or why the container cannot be started so. */
export type SentStart =
  | {
      readonly type: 'sent';
      readonly onStart: string | undefined;
      readonly args: readonly string[] | undefined;
      /** Undefined if no fuse was wanted. */
      readonly fuse: RentalFuse | undefined;
    }
  | { readonly type: 'refused'; readonly detail: string };

/** Texts that, with the spec, form the start script. */
interface StartParts {
  /** Text of a script from a Secret. */
  readonly script?: string | undefined;
  readonly fuse?: DesiredFuse | undefined;
}

/**
 * Returns the start of a container in the form that the marketplace accepts: a long script is packed, a program is sent
 * unchanged. A life fuse for which the script leaves no room is left out; a lease is refused then.
 */
export function sentStart(launch: Launch, { script, fuse }: StartParts, facts: ScriptFacts): SentStart {
  const text = launch.onStart && 'text' in launch.onStart ? launch.onStart.text : script;
  if (fuse?.type === 'impossible') return { type: 'refused', detail: fuse.detail };
  if (fuse === undefined || fuse.type === 'none') return plainStart(launch, { text, fuse }, facts);
  const fused = facts.pack(startText(fuse.line, text));
  const { fuses } = fuse;
  if (fused.type === 'fits')
    return { type: 'sent', onStart: fused.script, args: launch.args, fuse: rentalFuse(fuse) };
  const why = noRoom(fuse.line, facts);
  if (fuses.leaseSeconds !== undefined) return { type: 'refused', detail: `spec.lease: ${why}` };
  const none = { type: 'none', reason: 'NoRoomForFuse', detail: `${ONLY_OPERATOR}: ${why}` } as const;
  return plainStart(launch, { text, fuse: none }, facts);
}

/** Returns the nonce of the next rental of the object. */
export function rentalNonce(observed: Observed): string {
  const { openIntent, settledAttempt, uid, identity } = deriveFacts(observed).purchase;
  return runNonce(identity.keys, { uid, attempt: (openIntent?.attempt ?? settledAttempt) + 1 });
}

/** Parts of the start of a run. */
interface RunParts extends StartParts {
  readonly url: string;
  readonly nonce: string;
  readonly market: Pick<MarketFacts, 'name' | 'script' | 'selfEnd'>;
}

/**
 * Returns the start of a run: its program in the wrapper that reports the exit code and stops the machine. It is refused
 * if the machine cannot do that, or the text is too long.
 */
export function sentRun(
  { command, args = [], entrypoint }: Pick<GpuInstanceSpec, 'args' | 'command' | 'entrypoint'>,
  { script = '', fuse, url, nonce, market }: RunParts,
): SentStart {
  if (fuse?.type === 'impossible') return { type: 'refused', detail: fuse.detail };
  const { selfEnd: facts } = market;
  const fuses = fuse?.type === 'fuse' ? fuse.fuses : {};
  const program = command
    ? ({ type: 'words', words: [...command, ...args] } as const)
    : ({ type: 'script', text: script } as const);
  const isFirstProcess = entrypoint === 'Override';
  const reportUrl = fuse?.type === 'fuse' ? fuse.reportUrl : undefined;
  const text = facts && runText({ url, facts, reportUrl, fuses, nonce, program, isFirstProcess });
  if (text === undefined) {
    const why = facts?.stop
      ? 'a machine sends its key to an https address only'
      : `machines of ${market.name} cannot stop themselves`;
    return { type: 'refused', detail: `spec.completion cannot work: ${why}.` };
  }
  const sentFuse = fuse && (fuse.type === 'fuse' ? rentalFuse(fuse) : fuse);
  if (isFirstProcess) return firstProcess(text, sentFuse, market.script);
  const packed = market.script.pack(text);
  if (packed.type === 'fits')
    return { type: 'sent', onStart: packed.script, args: undefined, fuse: sentFuse };
  const { bytes, packedLength } = packed;
  const detail = `The start script has ${bytes} bytes with the wrapper of the run, and still ${packedLength} when packed; the marketplace takes ${market.script.max}. Move parts of the script into the image.`;
  return { type: 'refused', detail };
}

/** Returns the fuse as the rental records it. */
function rentalFuse({ fuses, reportUrl }: Extract<DesiredFuse, { type: 'fuse' }>): RentalFuse {
  return { type: 'fuse', fuses, ...(reportUrl !== undefined && { isReporting: true }) };
}

/** Shell of the first process of a container. */
const SHELL = 'sh';

/**
 * Returns the start of a run whose wrapper is the first process. It is not packed: the shell that unpacks a text would
 * be the first process in its place, and pass no TERM on.
 */
function firstProcess(text: string, fuse: RentalFuse | undefined, facts: ScriptFacts): SentStart {
  const args = ['-c', text];
  const tooLong = facts.tooLong(SHELL, args);
  if (tooLong === undefined) return { type: 'sent', onStart: SHELL, args, fuse };
  const detail = `spec.command: ${tooLong}, with the wrapper of the run. Leave entrypoint: Override out, which packs the script, or move words into the image.`;
  return { type: 'refused', detail };
}

/** Returns the start without a fuse. */
function plainStart(
  { onStart, args }: Launch,
  { text, fuse }: { readonly text: string | undefined; readonly fuse: RentalFuse | undefined },
  facts: ScriptFacts,
): SentStart {
  const packed = onStart?.type === 'program' || text === undefined ? undefined : facts.pack(text);
  if (packed?.type === 'tooLong') {
    const { bytes, packedLength } = packed;
    const detail = `The start script has ${bytes} bytes and still ${packedLength} when packed; the marketplace takes ${facts.max}.`;
    return { type: 'refused', detail };
  }
  const sent = packed?.script ?? text;
  const tooLong = facts.tooLong(sent, args);
  return tooLong === undefined
    ? { type: 'sent', onStart: sent, args, fuse }
    : { type: 'refused', detail: `spec.args: ${tooLong}.` };
}

function noRoom(line: string, { max }: ScriptFacts): string {
  return `the script leaves no room for the ${line.length} characters of the fuse in the ${max} that the marketplace takes. Move parts of the script into the image.`;
}
