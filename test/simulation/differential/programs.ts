import type { Random } from '../../../src/lib/random.ts';
import { Bodies } from './bodies.ts';
import { CLIENTS, type Client, type Operation, type Plural, type Program, WATCH_FROM } from './operations.ts';

const PLURALS: readonly Plural[] = [
  'gpuinstances',
  'gpuinstances',
  'gpuinstances',
  'endpointgroups',
  'endpointgroups',
  'secrets',
  'leases',
  'configmaps',
  'marketplaceaccounts',
];
const CUSTOM: readonly Plural[] = ['gpuinstances', 'endpointgroups', 'marketplaceaccounts'];
const VERSIONS = ['latest', 'latest', 'latest', 'first', 'none', 'bogus'] as const;
const MOSTLY_NONE = ['none', 'none', 'none', 'none', 'latest', 'first'] as const;
const LENGTH = 10;
/** Share of programs that two clients run. */
const SHARE_OF_TWO_CLIENTS = 0.6;

const TYPES = [
  ...(['create', 'get', 'list', 'replace', 'replace', 'merge', 'merge', 'merge', 'json'] as const),
  ...(['apply', 'apply', 'delete', 'watch'] as const),
];

/**
 * Draws a random program over two names of one kind, run by one client or by two in turn; `id` keeps programs apart.
 */
export function drawProgram(random: Random, id: string): Program {
  const pick = <T>(options: readonly T[]): T => {
    // The index is below the length, and undefined is an option like another.
    return options[Math.floor(random.next() * options.length)] as T;
  };
  const plural = pick(PLURALS);
  const chance = (share: number): boolean => random.next() < share;
  const appliesWhole = chance(0.5);
  const clients: readonly Client[] = chance(SHARE_OF_TWO_CLIENTS) ? CLIENTS : ['one'];
  const bodies = new Bodies({ id, plural, pick, chance, appliesWhole });
  const draw = new Draw({ id, plural, pick, chance, appliesWhole, clients, bodies });
  const operations = Array.from({ length: LENGTH }, (_, step) => draw.operation(step));
  return { id, plural, operations };
}

interface DrawOptions {
  readonly id: string;
  readonly plural: Plural;
  readonly pick: <T>(options: readonly T[]) => T;
  readonly chance: (share: number) => boolean;
  readonly appliesWhole: boolean;
  readonly clients: readonly Client[];
  readonly bodies: Bodies;
}

class Draw {
  readonly #options: DrawOptions;

  constructor(options: DrawOptions) {
    this.#options = options;
  }

  operation(step: number): Operation {
    const { plural, pick, clients, id, bodies } = this.#options;
    const named = { client: pick(clients), plural, name: `${id}-${pick(['a', 'b'])}` };
    if (step === 0) return { ...named, type: 'create', name: `${id}-a`, body: bodies.fresh() };
    const type = pick(TYPES);
    switch (type) {
      case 'create':
        return { ...named, type, body: bodies.fresh() };
      case 'get':
        return { ...named, type };
      case 'list':
      case 'watch':
        return this.#read(type, named.client);
      case 'json':
        return { ...named, type, version: pick(MOSTLY_NONE), patch: bodies.jsonPatch() };
      default:
        return this.#write(type, named);
    }
  }

  #read(type: 'list' | 'watch', client: Client): Operation {
    const { plural, pick, chance, id } = this.#options;
    if (type === 'list')
      return { type, client, plural, limit: pick([undefined, 1, 2]), notOlder: chance(0.3) };
    const selector = `program=${id}${pick(['', ',tier=gold'])}`;
    return { type, client, plural, from: pick(WATCH_FROM), bookmarks: chance(0.7), selector };
  }

  #write(
    type: 'replace' | 'merge' | 'apply' | 'delete',
    named: Pick<Extract<Operation, { type: 'get' }>, 'client' | 'plural' | 'name'>,
  ): Operation {
    const { pick, chance, bodies, appliesWhole } = this.#options;
    const subresource = CUSTOM.includes(named.plural) && chance(0.35) ? 'status' : undefined;
    switch (type) {
      case 'replace': {
        const body = subresource ? bodies.freshStatus() : bodies.fresh();
        return { ...named, type, version: pick(VERSIONS), uid: this.#uid(), body, subresource };
      }
      case 'merge': {
        const body = bodies.change(subresource);
        return { ...named, type, version: pick(VERSIONS), uid: this.#uid(), body, subresource };
      }
      case 'apply': {
        const uid = appliesWhole ? this.#uid() : pick(['right', 'right', 'wrong'] as const);
        return { ...named, type, version: pick(MOSTLY_NONE), uid, body: bodies.applied() };
      }
      case 'delete':
        return {
          ...named,
          type,
          uid: pick(['none', 'none', 'right', 'wrong']),
          version: pick(['none', 'none', 'latest', 'first']),
        };
    }
  }

  #uid() {
    return this.#options.pick(['none', 'none', 'none', 'right', 'wrong'] as const);
  }
}
