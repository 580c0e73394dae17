import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { KeeperCommand, KeeperEvent, KeeperState, KeptSite } from './keeper-messages.ts';
import type { NodeTimes } from './node/ready.ts';
import type { ControlPlanePlan } from './site.ts';

type WithoutId<Command> = Command extends unknown ? Omit<Command, 'id'> : never;

/** A control plane that outlives nothing: it goes when this process goes, whatever ends it. */
export interface KeptControlPlane {
  readonly site: KeptSite;
  readonly nodeTimes: NodeTimes | undefined;
  processIds(): Readonly<Record<string, number>>;
  startApiServer(): Promise<void>;
  stopApiServer(): Promise<void>;
  stop(): Promise<void>;
}

/** Commands to a keeper and its replies, matched by id. */
export class KeeperChannel {
  state: KeeperState = { processIds: {}, site: undefined, nodeTimes: undefined };
  /** Resolves when the keeper runs; rejects if it ends before. */
  readonly up: Promise<void>;
  readonly #keeper: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>();
  #lastId = 0;

  constructor(keeper: ChildProcess, onLoss: (how: string) => void) {
    this.#keeper = keeper;
    const up = Promise.withResolvers<void>();
    this.up = up.promise;
    this.up.catch(() => {});
    keeper.on('message', (event: KeeperEvent) => {
      if (event.type === 'up') up.resolve();
      else if (event.type === 'lost') onLoss(event.how);
      else this.#settle(event);
    });
    keeper.once('exit', (code, signal) => {
      const how = `The process that keeps the control plane ended (${signal ?? code}), and so did its servers.`;
      up.reject(new Error(how));
      if (code !== 0) onLoss(how);
      for (const waiting of this.#waiting.values()) waiting.reject(new Error(how));
      this.#waiting.clear();
    });
  }

  send(command: WithoutId<KeeperCommand>): Promise<void> {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<void>();
    this.#waiting.set(id, waiting);
    this.#keeper.send({ ...command, id }, (error) => {
      if (error !== null) waiting.reject(error);
    });
    return waiting.promise;
  }

  #settle(event: Exclude<KeeperEvent, { type: 'lost' | 'up' }>): void {
    const waiting = this.#waiting.get(event.id);
    this.#waiting.delete(event.id);
    if (event.type === 'failed') {
      waiting?.reject(new Error(event.why));
      return;
    }
    this.state = event.state;
    waiting?.resolve();
  }
}

/** Tells a keeper to end, and resolves when it has. */
export async function dismiss(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const ended = once(keeper, 'exit');
  if (keeper.connected) keeper.disconnect();
  await ended;
}

/** Lets that keeper start the control plane; resolves when the API is ready, and the node if there is to be one. */
export async function startKept(
  channel: KeeperChannel,
  plan: ControlPlanePlan,
): Promise<Omit<KeptControlPlane, 'stop'>> {
  await channel.send({ type: 'start', plan });
  const { site, nodeTimes } = channel.state;
  if (site === undefined) throw new Error('The keeper reported a start without saying where.');
  return {
    site,
    nodeTimes,
    processIds: () => channel.state.processIds,
    startApiServer: () => channel.send({ type: 'startApiServer' }),
    stopApiServer: () => channel.send({ type: 'stopApiServer' }),
  };
}

/** The program of a keeper. */
export const KEEPER = join(import.meta.dirname, 'keeper.ts');

/** Starts a keeper and lets it start the control plane; resolves when the API is ready. */
export async function keepControlPlane(
  plan: ControlPlanePlan,
  onLoss: (how: string) => void,
): Promise<KeptControlPlane> {
  // Detached: a Ctrl-C meant for the tests must not reach the servers before the keeper has put them in order.
  const keeper = fork(KEEPER, { detached: true, execArgv: [] });
  const channel = new KeeperChannel(keeper, onLoss);
  try {
    const kept = await startKept(channel, plan);
    return {
      ...kept,
      async stop() {
        await dismiss(keeper);
        // The keeper has done so already, unless it was killed.
        rmSync(kept.site.folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await dismiss(keeper);
    throw error;
  }
}
