import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { accountKey, accountRefOf } from '../instance/account-ref.ts';
import { recordedState } from '../instance/machine-state.ts';
import { recordedClaim } from '../instance/summary.ts';
import { inBackground } from '../lib/background.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { MarketplaceError } from '../market/errors.ts';
import type { Market } from '../market/market.ts';
import { claimVerifies } from '../ownership/claim.ts';
import { type Login, loginText } from '../ownership/login.ts';
import type { RecordedClaim } from '../ownership/ownership.ts';
import {
  type LogMark,
  lastLines,
  markOf,
  parsePosition,
  positionAt,
  textAfter,
  textSince,
} from '../reach/log-lines.ts';
import {
  type LogPiece,
  type LogReason,
  type LogRefusal,
  type LogRequest,
  type LogSink,
  logPiece,
  type OpenLog,
} from '../reach/log-stream.ts';
import { type AccountDirectory, sessionOf } from './registry.ts';

/** Milliseconds between two reads of one log. */
const READ_EVERY_MS = 5_000;
/** Milliseconds between two reads of one login. */
const LOGIN_GAP_MS = 1_000;
/** Maximum interval of a log that cannot be read, or whose machine does not run. */
const MAX_READ_EVERY_MS = 60_000;
/** Machines of one login that can be read at {@link READ_EVERY_MS}. */
const FULL_SPEED_LOGS = READ_EVERY_MS / LOGIN_GAP_MS;
const TICK_MS = 250;
/** Deadline of a read, pacing included. */
const READ_DEADLINE_MS = 30_000;
/** Lines of one read; a container that writes more in one interval loses some here, and the stream reports it. */
const READ_LINES = 2_000;
const MIN_READ_LINES = 50;
/** Characters of one piece, and of the text that a later follower receives first. */
const PIECE_LENGTH = 65_536;
const MAX_FOLLOWERS = 160;
const MAX_FOLLOWERS_OF_NAMESPACE = 128;

/** Dependencies of the logs. */
export interface MachineLogsOptions {
  readonly clock: Clock;
  /** Returns a GpuInstance by namespace/name from the cache. */
  readonly instanceOf: (key: string) => GpuInstance | undefined;
  readonly accounts: Pick<AccountDirectory, 'get'>;
  /** True while this process may call the marketplace. */
  readonly isLeading: () => boolean;
}

/** State of the log of a GpuInstance. */
type Target =
  | MachineTarget
  /** No machine now; the object may get one. */
  | { readonly type: 'none'; readonly why: string }
  /** No machine now or later. */
  | { readonly type: 'over'; readonly reason: 'Deleted' | 'Complete'; readonly message: string }
  | { readonly type: 'refused'; readonly refusal: LogRefusal };

interface MachineTarget {
  readonly type: 'machine';
  readonly id: string;
  readonly isRunning: boolean;
  readonly hasRun: boolean;
  /** True if the work of the object is done, so the log does not grow. */
  readonly isFinished: boolean;
  readonly login: Login;
  readonly readLog: NonNullable<Market['readLog']>;
}

interface Follower {
  readonly sink: LogSink;
  readonly follows: boolean;
  /** Position after which it begins; undefined once it has begun. */
  since: string | undefined;
  /** True once it received the text that was there. */
  hasBegun: boolean;
  /** Latest note about the state, so that each is sent once. */
  noted: string;
  /** Number of logs of the login when it was last informed about slow reads. */
  slowAt: number;
}

/** Log of a machine whose program has ended. */
export interface EndedLog {
  readonly instanceId: string;
  readonly text: string;
}

/** The log of the present machine. */
interface MachineLog {
  machine: MachineTarget | undefined;
  /** State of the read that follows the end of the machine. */
  lastRead: 'none' | 'due' | 'done';
  /** True once the text with the result of a program is here: the program writes no more. */
  isWhole: boolean;
  mark: LogMark | undefined;
  /** Last characters of the log, for later followers. */
  window: string;
  lines: number;
  failures: number;
}

/** The reader of the log of one GpuInstance. */
interface Reader extends MachineLog {
  readonly namespace: string;
  readonly name: string;
  readonly followers: Set<Follower>;
  isReading: boolean;
  /** Start of the latest read. */
  startedAt: number;
  /** Machine before the present one. */
  previousId: string | undefined;
}

const NEW_LOG: MachineLog = {
  ...{ machine: undefined, lastRead: 'none', isWhole: false, mark: undefined, window: '' },
  ...{ lines: READ_LINES, failures: 0 },
};

const NOT_LEADING: LogRefusal = {
  status: 503,
  message: 'This replica of the operator does not lead. Connect again: another replica serves logs.',
};
const TEXT_MISSING = 'More text was written than could be read, or the log was cut: some is missing here.';

/**
 * The logs of rented machines, for any number of followers. Each log has one reader, whatever the number of its
 * followers: it reads every 5 s while a follower is there, and one login is read at most once a second. Only the
 * operator's key reads, and only a machine whose claim verifies: a status edited by hand opens no other log.
 */
export class MachineLogs {
  readonly #options: MachineLogsOptions;
  readonly #readers = new Map<string, Reader>();
  /** Start of the latest read by login. */
  readonly #lastReads = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(options: MachineLogsOptions) {
    this.#options = options;
  }

  /** Opens a stream. Never throws. Pieces arrive after it has returned. */
  readonly open: OpenLog = ({ namespace, name, since, follow }, sink) => {
    const key = `${namespace}/${name}`;
    const refusal = this.#refusal(key, { namespace, follow });
    if (refusal) return { type: 'refused', refusal };
    const reader = this.#readers.get(key) ?? this.#newReader(namespace, name);
    const follower: Follower = {
      ...{ sink, since, follows: follow, hasBegun: false },
      ...{ noted: '', slowAt: 0 },
    };
    this.#readers.set(key, reader);
    reader.followers.add(follower);
    this.#schedule(0);
    return { type: 'open', close: () => reader.followers.delete(follower) };
  };

  /**
   * Sends followers the log in which the result of the object's program was found. Its machine may end at once, and
   * then no read shows these lines any more. Never throws.
   */
  readonly ended = (key: string, { instanceId, text }: EndedLog): void => {
    const reader = this.#readers.get(key);
    const target = this.#targetOf(key);
    if (!reader || target.type !== 'machine' || target.id !== instanceId) return;
    if (reader.machine?.id !== instanceId) adopt(reader, target);
    received(reader, target, text);
    reader.isWhole = true;
  };

  #newReader(namespace: string, name: string): Reader {
    const startedAt = Number.NEGATIVE_INFINITY;
    const followers = new Set<Follower>();
    return { namespace, name, followers, isReading: false, startedAt, previousId: undefined, ...NEW_LOG };
  }

  #refusal(
    key: string,
    { namespace, follow }: Pick<LogRequest, 'namespace' | 'follow'>,
  ): LogRefusal | undefined {
    if (!this.#options.isLeading()) return NOT_LEADING;
    const readers = [...this.#readers.values()];
    const isFull =
      followersOf(readers) >= MAX_FOLLOWERS ||
      followersOf(readers.filter((each) => each.namespace === namespace)) >= MAX_FOLLOWERS_OF_NAMESPACE;
    if (isFull)
      return { status: 429, message: 'Too many followers of logs. Close some, or try again later.' };
    const target = this.#targetOf(key);
    if (target.type === 'refused') return target.refusal;
    if (target.type === 'over')
      return { status: target.reason === 'Complete' ? 410 : 404, message: target.message };
    if (target.type === 'none' && !follow) return { status: 404, message: target.why };
    return undefined;
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(delayMs, () => this.#tick(), { background: true });
  }

  #tick(): void {
    const isLeading = this.#options.isLeading();
    for (const [key, reader] of this.#readers) {
      if (!isLeading) endAll(reader, 'NotLeading', NOT_LEADING.message);
      else if (reader.followers.size > 0 && !reader.isReading) this.#observe(reader, this.#targetOf(key));
      // A reader without followers is kept until its next read is due, so that short requests cost no more reads.
      const isIdle = reader.followers.size === 0 && !reader.isReading;
      const isDue = reader.lastRead === 'done' || this.#dueAt(reader) <= this.#now();
      if (isIdle && isDue) this.#readers.delete(key);
    }
    this.#startReads();
    if (this.#readers.size > 0) this.#schedule(TICK_MS);
    else this.#timer = undefined;
  }

  /** Compares the object with what its reader reads. */
  #observe(reader: Reader, target: Target): void {
    if (target.type === 'machine' && !reader.machine) adopt(reader, target);
    const isSame = target.type === 'machine' && reader.machine?.id === target.id;
    if (isSame && !target.isFinished) {
      reader.machine = target;
      reader.lastRead = 'none';
      begin(reader);
      return;
    }
    if (reader.machine && reader.lastRead !== 'done' && !reader.isWhole) {
      reader.lastRead = 'due';
      return;
    }
    if (reader.isWhole) reader.lastRead = 'done';
    begin(reader);
    if (isSame) endAll(reader, 'Complete', `${reader.name} has finished.`);
    else if (target.type === 'machine') adopt(reader, target);
    else if (target.type === 'over') endAll(reader, target.reason, target.message);
    else {
      leaveMachine(reader);
      if (target.type === 'none') noteState(reader, 'Waiting', target.why);
      else noteState(reader, 'NotReadable', target.refusal.message);
    }
  }

  #targetOf(key: string): Target {
    const object = this.#options.instanceOf(key);
    const deleted: Target = {
      type: 'over',
      reason: 'Deleted',
      message: `GpuInstance ${key} does not exist.`,
    };
    if (!object) return deleted;
    const claim = recordedClaim(object);
    if (!claim || object.status?.instanceId === undefined) {
      if (object.metadata.deletionTimestamp !== undefined) return deleted;
      if (isFinished(object)) return { type: 'over', reason: 'Complete', message: finishedText(key, object) };
      return { type: 'none', why: `${key} has no machine (${object.status?.phase ?? 'not yet seen'}).` };
    }
    return this.#machineOf(key, object, claim);
  }

  #machineOf(key: string, object: GpuInstance, claim: RecordedClaim): Target {
    const refused = (status: LogRefusal['status'], message: string): Target => ({
      type: 'refused',
      refusal: { status, message },
    });
    const account = accountRefOf(object);
    const lookup = this.#options.accounts.get(account);
    const session = sessionOf(lookup);
    if (!session) {
      const why = lookup.type === 'notReady' ? lookup.message : 'It does not exist.';
      return refused(503, `MarketplaceAccount ${accountKey(account)} is not ready: ${why}`);
    }
    const { login, identity, market } = session;
    if (!claimVerifies(identity.keys, { ...claim, login }, claim.claim))
      return refused(409, `The status of ${key} names a machine that the operator did not rent for it.`);
    if (!market.readLog) return refused(501, `The market ${market.about.name} returns no logs.`);
    return {
      ...{ type: 'machine', id: claim.instanceId, login },
      isRunning: recordedState(object.status).state === 'running',
      hasRun: object.status?.runningAt !== undefined,
      isFinished: isFinished(object),
      readLog: market.readLog,
    };
  }

  /** Starts the read that is due longest, for each login whose last one is a second ago. */
  #startReads(): void {
    const now = this.#now();
    const followed = [...this.#readers.values()].filter(({ followers }) => followers.size > 0);
    const byLogin = Map.groupBy(followed, ({ machine }) => machine && loginText(machine.login));
    for (const [login, readers] of byLogin) {
      if (login === undefined) continue;
      for (const reader of readers) announceSpeed(reader, readers.length);
      if (now - (this.#lastReads.get(login) ?? Number.NEGATIVE_INFINITY) < LOGIN_GAP_MS) continue;
      const [next] = readers
        .filter((reader) => !reader.isReading && this.#dueAt(reader) <= now)
        .toSorted((a, b) => a.startedAt - b.startedAt);
      if (!next?.machine) continue;
      this.#lastReads.set(login, now);
      this.#read(next, next.machine);
    }
  }

  #dueAt({ lastRead, isWhole, machine, failures, startedAt }: Reader): number {
    if (lastRead === 'due') return Number.NEGATIVE_INFINITY;
    if (lastRead === 'done' || isWhole) return Number.POSITIVE_INFINITY;
    const isQuiet = machine?.hasRun && !machine.isRunning;
    const interval = isQuiet ? MAX_READ_EVERY_MS : READ_EVERY_MS * 2 ** Math.min(failures, 4);
    return startedAt + Math.min(MAX_READ_EVERY_MS, interval);
  }

  #read(reader: Reader, machine: MachineTarget): void {
    const isLast = reader.lastRead === 'due';
    reader.isReading = true;
    reader.startedAt = this.#now();
    const isOver = () => {
      reader.isReading = false;
      if (isLast) reader.lastRead = 'done';
    };
    inBackground(
      { task: 'read a log', object: `${reader.namespace}/${reader.name}` },
      async () => {
        const text = await machine.readLog(machine.id, reader.lines, { deadlineMs: READ_DEADLINE_MS });
        isOver();
        if (!reader.isWhole) received(reader, machine, text);
      },
      (error) => {
        isOver();
        if (!reader.isWhole) failed(reader, machine, error);
      },
    );
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }
}

function followersOf(readers: readonly Reader[]): number {
  return readers.reduce((sum, { followers }) => sum + followers.size, 0);
}

/** Returns true if the object is a run whose result is known. */
function isFinished({ status }: GpuInstance): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === 'Succeeded' && is !== 'Unknown') === true
  );
}

/** Returns the result of a run without a machine, and the place of its log. */
function finishedText(key: string, { metadata: { name }, status }: GpuInstance): string {
  const succeeded = status?.conditions?.find(({ type }) => type === 'Succeeded');
  const { exitCode, log } = status?.run ?? {};
  const code = exitCode === undefined ? '' : `, exit code ${exitCode}`;
  const place = log
    ? `Its log is in Secret ${log.secretRef.name}: gpu-rent logs gpui/${name} reads it with your own permissions.`
    : 'No log of it was kept.';
  return `${key} has finished (${succeeded?.reason ?? 'Completed'}${code}), and its machine is gone. ${place}`;
}

/** Reads another machine from now on. */
function adopt(reader: Reader, machine: MachineTarget): void {
  leaveMachine(reader);
  if (reader.previousId !== undefined && reader.previousId !== machine.id)
    send(reader, note('Replaced', runsOn(reader, machine)));
  Object.assign(reader, NEW_LOG, { machine, startedAt: Number.NEGATIVE_INFINITY });
}

function leaveMachine(reader: Reader): void {
  if (!reader.machine) return;
  reader.previousId = reader.machine.id;
  Object.assign(reader, NEW_LOG);
  for (const follower of reader.followers) follower.hasBegun = false;
}

function runsOn({ name }: Reader, { id }: MachineTarget): string {
  return `${name} runs on machine ${id} now.`;
}

/** Sends new text, and keeps the end of the log. */
function received(reader: Reader, machine: MachineTarget, text: string): void {
  const { added, isCut } = reader.mark ? textAfter(reader.mark, text) : { added: '', isCut: false };
  const mark = markOf(text);
  const pieces = [
    ...(isCut ? [note('TextMissing', TEXT_MISSING)] : []),
    ...piecesOf(added, positionAt(machine.id, mark)),
  ];
  for (const follower of reader.followers) {
    follower.noted = '';
    if (follower.hasBegun) for (const piece of pieces) follower.sink(piece);
  }
  Object.assign(reader, { failures: 0, mark, window: endOf(text) });
  begin(reader);
}

/** Sends the text that is there to the followers that have received none. */
function begin(reader: Reader): void {
  const { machine, mark, window } = reader;
  if (!machine || !mark) return;
  const position = positionAt(machine.id, mark);
  for (const follower of reader.followers) {
    if (follower.hasBegun) continue;
    for (const piece of firstPieces(follower.since, { reader, machine, window, position }))
      follower.sink(piece);
    follower.hasBegun = true;
    follower.since = undefined;
    if (!follower.follows) end(reader, follower, { reason: 'Complete', message: 'End of the log.' });
  }
}

interface FirstText {
  readonly reader: Reader;
  readonly machine: MachineTarget;
  readonly window: string;
  readonly position: string;
}

function firstPieces(since: string | undefined, { reader, machine, window, position }: FirstText) {
  const from = since === undefined ? undefined : parsePosition(since);
  if (!from) return piecesOf(window, position);
  if (from.machineId !== machine.id)
    return [note('Replaced', runsOn(reader, machine)), ...piecesOf(window, position)];
  const { added, isCut } = textSince(from.mark, window);
  return [...(isCut ? [note('TextMissing', TEXT_MISSING)] : []), ...piecesOf(added, position)];
}

function failed(reader: Reader, { id, hasRun }: MachineTarget, error: unknown): void {
  reader.failures += 1;
  const kind = error instanceof MarketplaceError ? error.kind : 'unavailable';
  // The text was longer than one read may be.
  if (kind === 'malformedReply') reader.lines = Math.max(MIN_READ_LINES, Math.floor(reader.lines / 2));
  const reason = hasRun ? 'NotReadable' : 'Waiting';
  const message = hasRun
    ? `The log of machine ${id} cannot be read (${kind}); retrying.`
    : `Machine ${id} has no log yet: its host loads it.`;
  noteState(reader, reason, message);
  for (const follower of reader.followers) if (!follower.follows) end(reader, follower, { reason, message });
}

/** Reports the interval of reads if it is longer than usual, again when it has doubled. */
function announceSpeed({ followers }: Reader, logs: number): void {
  for (const follower of followers) {
    if (logs <= FULL_SPEED_LOGS) follower.slowAt = 0;
    else if (follower.slowAt === 0 || logs >= 2 * follower.slowAt) {
      follower.slowAt = logs;
      follower.sink(
        note('SlowReads', `${logs} logs of this account are followed: each is read every ${logs} s.`),
      );
    }
  }
}

/** Sends a note about the state to each follower that has not received it. */
function noteState({ followers }: Reader, reason: LogReason, message: string): void {
  const piece = note(reason, message);
  for (const follower of followers) {
    if (follower.noted === message || !follower.follows) continue;
    follower.noted = message;
    follower.sink(piece);
  }
}

function send({ followers }: Reader, piece: LogPiece): void {
  for (const { sink } of followers) sink(piece);
}

function endAll(reader: Reader, reason: LogReason, message: string): void {
  for (const follower of reader.followers) end(reader, follower, { reason, message });
}

function end(
  { followers }: Reader,
  follower: Follower,
  ending: { readonly reason: LogReason; readonly message: string },
): void {
  followers.delete(follower);
  follower.sink(logPiece({ type: 'end', ...ending }));
}

function note(reason: LogReason, message: string): LogPiece {
  return logPiece({ type: 'note', reason, message });
}

/** Returns the text in pieces of bounded length. The last one has the position of its end. */
function piecesOf(text: string, position: string): readonly LogPiece[] {
  const pieces: LogPiece[] = [];
  for (let at = 0; at < text.length; ) {
    const part = text.slice(at, at + PIECE_LENGTH);
    // A pair of surrogates is one character.
    const isHalf = /[\uD800-\uDBFF]$/.test(part) && at + part.length < text.length;
    const whole = isHalf ? part.slice(0, -1) : part;
    at += whole.length;
    pieces.push(logPiece({ type: 'text', text: whole, ...(at === text.length && { position }) }));
  }
  return pieces;
}

/** Returns the end of a log. It is a copy: a part of a string would keep the whole in memory. */
function endOf(text: string): string {
  return Buffer.from(lastLines(text, PIECE_LENGTH)).toString();
}
