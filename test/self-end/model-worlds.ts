import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fuseLine } from '../../src/instance/self-end.ts';
import { startText } from '../../src/instance/start-text.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import { Chance } from '../simulation/chance.ts';
import { FuseFolder, FuseProcess, fuseIn } from '../simulation/deadman/fuse-model.ts';
import { type ClientName, programPath, SHELLS, type ShellName } from './container.ts';
import { LockstepContainer } from './lockstep.ts';
import type { OwnKeyService } from './own-key-service.ts';

const ACTS = 24;
const MAX_PROCESSES = 2;
const ODD_COUNTS = ['', 'a\n', '-5\n', ' 60\n', '30 60\n'] as const;
const REPLIES = [200, 200, 204, 302, 403, 500] as const;

/** Observed effects of a side of a world. */
interface Seen {
  readonly calls: readonly string[];
  /** The count on disk; undefined without one. */
  readonly count: string | undefined;
  readonly isProven: boolean;
}

/**
 * Plays one life of a container twice, by the model and by the text in a real shell, with the same acts. Returns the
 * first difference, or undefined. The acts: ticks, renewals, restarts, a second start, odd counts, a deleted folder,
 * signals, and replies that refuse.
 */
export async function compareWithShell(seed: number, service: OwnKeyService): Promise<string | undefined> {
  const world = new ModelWorld(seed, service);
  try {
    return await world.play();
  } finally {
    world.remove();
  }
}

class ModelWorld {
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #service: OwnKeyService;
  readonly #clients: readonly ClientName[];
  readonly #shell: ShellName;
  readonly #text: string;
  readonly #container: LockstepContainer;
  readonly #modelled: string[] = [];
  #replies: number[] = [];
  #folder = new FuseFolder();
  #isFolderThere = false;
  #processes: FuseProcess[] = [];
  #renewals = 0;

  constructor(seed: number, service: OwnKeyService) {
    const chance = new Chance(seededRandom(seed));
    this.#seed = seed;
    this.#chance = chance;
    this.#service = service;
    this.#shell = chance.oneOf(presentShells());
    this.#clients = chance.oneOf([
      ['curl'],
      ['curl'],
      ['curl'],
      ['openssl'],
      ['curl', 'python3'],
      [],
    ] as const);
    const lifeSeconds = chance.isWithin(0.7) ? 30 * chance.upTo(12) - chance.below(30) : undefined;
    const hasLease = lifeSeconds === undefined || chance.isWithin(0.6);
    const leaseSeconds = hasLease ? 30 * chance.upTo(5) - chance.below(30) : undefined;
    const { selfEnd: facts } = vastFacts;
    const line = facts && fuseLine({ url: service.url, facts }, { lifeSeconds, leaseSeconds });
    if (line === undefined) throw new Error('there is no fuse');
    this.#text = startText(line, undefined);
    this.#container = new LockstepContainer(this.#clients);
  }

  remove(): void {
    this.#container.remove();
  }

  async play(): Promise<string | undefined> {
    const acts = ['starts'];
    await this.#start();
    for (let act = 0; act < ACTS; act += 1) {
      acts.push(await this.#act());
      const [modelled, real] = [this.#modelSeen(), this.#realSeen()];
      if (JSON.stringify(modelled) !== JSON.stringify(real))
        return `seed ${this.#seed}, ${this.#shell} with ${this.#clients.join()}, ${acts.join(', ')}: the model says ${JSON.stringify(modelled)}, the shell ${JSON.stringify(real)}`;
    }
    return undefined;
  }

  /** Performs a random act on both sides. Returns its name. */
  async #act(): Promise<string> {
    const chance = this.#chance;
    const acts: readonly (readonly [weight: number, name: string, act: () => Promise<void> | void])[] = [
      [60, 'ticks', () => this.#tick()],
      [14, 'is renewed', () => this.#write('renew', `${++this.#renewals}\n`)],
      [3, 'is renewed with the same value', () => this.#write('renew', `${this.#renewals}\n`)],
      [2, 'is renewed with nothing', () => this.#write('renew', '')],
      [7, 'restarts', () => this.#restart()],
      [3, 'starts once more', () => this.#startBeside()],
      [4, 'has an odd count', () => this.#write('t', chance.oneOf(ODD_COUNTS))],
      [2, 'loses its folder', () => this.#loseFolder()],
      [2, 'is asked to end', () => this.#container.signal(chance.oneOf(['SIGTERM', 'SIGHUP', 'SIGINT']))],
      [12, 'gets other replies', () => this.#setReplies()],
    ];
    let chosen = acts[0];
    chance.doOneOf(acts.map((each) => [each[0], () => (chosen = each)] as const));
    await chosen?.[2]();
    return chosen?.[1] ?? '';
  }

  async #start(): Promise<void> {
    if (!this.#isFolderThere) this.#folder = new FuseFolder();
    this.#isFolderThere = true;
    const fuse = fuseIn(this.#text);
    if (!fuse) throw new Error('the text has no fuse');
    this.#processes.push(new FuseProcess(fuse, this.#folder, this.#clients.length));
    await this.#container.start(this.#shell, this.#text, { SSL_CERT_FILE: this.#service.certificate });
  }

  async #restart(): Promise<void> {
    this.#container.kill();
    this.#processes = [];
    await this.#start();
  }

  async #startBeside(): Promise<void> {
    if (this.#processes.length < MAX_PROCESSES) await this.#start();
  }

  async #tick(): Promise<void> {
    await this.#container.tick();
    const call = (method: string, body: string) => {
      this.#modelled.push(`${method} ${body}`);
      const status = this.#replies.shift() ?? 200;
      return Promise.resolve(status < 300);
    };
    for (const process of this.#processes) await process.tick(call);
  }

  #write(name: string, text: string): void {
    if (!this.#isFolderThere) return;
    this.#folder.write(name, text);
    mkdirSync(this.#container.state, { recursive: true });
    writeFileSync(join(this.#container.state, name), text);
  }

  #loseFolder(): void {
    this.#folder.delete();
    this.#isFolderThere = false;
    rmSync(this.#container.state, { recursive: true, force: true });
  }

  #setReplies(): void {
    const replies = Array.from({ length: this.#chance.upTo(4) }, () => this.#chance.oneOf(REPLIES));
    this.#replies = [...replies];
    // Both methods share one queue, as at a marketplace that has trouble.
    this.#service.replies.set(this.#path, [...replies]);
  }

  get #path(): string {
    return `/api/v0/instances/${this.#container.id}/`;
  }

  #modelSeen(): Seen {
    return {
      calls: this.#modelled,
      count: this.#isFolderThere ? this.#folder.read('t')?.trim() : undefined,
      isProven: this.#isFolderThere && this.#folder.read('ok') !== undefined,
    };
  }

  #realSeen(): Seen {
    const file = (name: string) => join(this.#container.state, name);
    const calls = this.#service.calls.filter(({ key }) => key === `Bearer key-${this.#container.id}`);
    return {
      calls: calls.map(({ method, path, body }) =>
        path === this.#path ? `${method} ${body}` : `${method} ${path}`,
      ),
      count: existsSync(file('t')) ? readFileSync(file('t'), 'utf8').trim() : undefined,
      isProven: existsSync(file('ok')),
    };
  }
}

function presentShells(): readonly [ShellName, ...ShellName[]] {
  const [first, ...others] = SHELLS.filter((shell) => programPath(shell) !== undefined);
  if (first === undefined) throw new Error('none of the shells is installed');
  return [first, ...others];
}
