import type { MarketplaceClient } from '../markets/vast/client.ts';
import type { View } from '../views/table.ts';
import type { Command, CommandContext, CommandInput } from './command.ts';
import { notFound, usageError } from './command-error.ts';
import { type IdChange, idChangeCommand } from './id-change.ts';
import { parseId } from './option-values.ts';
import { createOutput } from './output/output.ts';
import { withMarketplace } from './sessions/marketplace-session.ts';

/** A kind of thing at the marketplace, and its display. */
export interface Noun<Item, Row> {
  /** Noun as typed, e.g. `ssh-key`. */
  readonly noun: string;
  /** Noun in sentences, if different. */
  readonly called?: string;
  /** Returns a thing in its JSON form. */
  readonly row: (item: Item) => Row;
  readonly columns: View<Row>['columns'];
}

/** The part of a command that its help shows. */
type Texts = Pick<Command, 'description' | 'examples' | 'args' | 'options'>;

interface Listing<Item, Query> extends Texts {
  /** Reads filters from the command line. Rejects with a usage error before any request. */
  readonly query?: (input: CommandInput) => Query | Promise<Query>;
  readonly find: (client: MarketplaceClient, query: Query) => Promise<readonly Item[]>;
}

interface Reading<Item> extends Pick<Texts, 'examples'> {
  /** Returns the thing with that id; undefined if it does not exist. */
  readonly find: (client: MarketplaceClient, id: string) => Promise<Item | null | undefined>;
}

interface Creation<Request> extends Texts {
  /** Reads the command line. Rejects with a usage error before any request. */
  readonly request: (input: CommandInput, context: CommandContext) => Request | Promise<Request>;
  /** Resolves to the id of the new thing. */
  readonly send: (client: MarketplaceClient, request: Request) => Promise<string>;
}

interface Update<Changes extends object> extends Pick<Texts, 'examples' | 'options'> {
  /** An example of an option, for the error about missing ones. */
  readonly hint: string;
  readonly changes: (input: CommandInput) => Changes;
  readonly send: (client: MarketplaceClient, id: string, changes: Changes) => Promise<unknown>;
}

/** Returns the commands of a noun: each is declared by its texts and its call, and they all print in the same form. */
export function commandsOf<Item, Row extends { readonly id: string }>({
  noun,
  called = noun,
  row,
  columns,
}: Noun<Item, Row>) {
  const view: View<Row> = { kind: noun, name: ({ id }) => id, columns };
  const argument = { name: '<id>', description: `The ${called}.` };
  const command = (texts: Texts, run: Command['run']): Command => ({
    ...texts,
    optionSets: ['output', 'marketplace'],
    run,
  });
  return {
    view,
    /** Shows all things of a noun. */
    list<Query>({ query, find, ...texts }: Listing<Item, Query>): Command {
      return command(texts, async (input, context) => {
        const asked = (await query?.(input)) as Query;
        const items = await withMarketplace(input, context, ({ client }) => find(client, asked));
        await createOutput(input, context).rows(view, items.map(row));
        return 0;
      });
    },
    /** Shows one thing. */
    get({ find, ...texts }: Reading<Item>): Command {
      return command({ ...texts, args: [argument] }, async (input, context) => {
        const id = parseId(input.args[0], noun);
        const item = await withMarketplace(input, context, ({ client }) => find(client, id));
        if (!item) throw notFound(`There is no ${called} ${id}.`, `gpu-rent list ${noun}s shows all.`);
        await createOutput(input, context).row(view, row(item));
        return 0;
      });
    },
    create<Request>({ request, send, ...texts }: Creation<Request>): Command {
      return command(texts, async (input, context) => {
        const given = await request(input, context);
        const id = await withMarketplace(input, context, ({ client }) => send(client, given));
        await createOutput(input, context).changed([{ kind: noun, name: id, did: 'created' }]);
        return 0;
      });
    },
    /** Changes one thing; a usage error without a change. */
    update<Changes extends object>({ hint, changes, send, ...texts }: Update<Changes>): Command {
      return command({ ...texts, args: [argument] }, async (input, context) => {
        const id = parseId(input.args[0], noun);
        const given = changes(input);
        if (Object.values(given).every((value) => value === undefined)) {
          throw usageError('No change was given.', `Give at least one option, e.g. ${hint}.`);
        }
        await withMarketplace(input, context, ({ client }) => send(client, id, given));
        await createOutput(input, context).changed([{ kind: noun, name: id, did: 'updated' }]);
        return 0;
      });
    },
    /** Acts on several things, named by their ids. */
    change: (verb: string, rule: Omit<IdChange, 'verb' | 'kind'>): Command =>
      idChangeCommand({ verb, kind: noun, ...rule }),
  };
}
