import { API_VERSION } from '../../../src/api/v1alpha1/names.ts';
import { CommandError } from '../../../src/cli/command-error.ts';
import { parseAvoidTarget } from '../../../src/cli/commands/avoid.ts';
import { parseTarget } from '../../../src/cli/objects/object-name.ts';
import { parseAmount, parseNumber, parseTime } from '../../../src/cli/option-values.ts';
import { plannedObjects } from '../../../src/cli/plan/manifests.ts';
import { redactedBody } from '../../../src/cli/sessions/explaining-transport.ts';
import { readGroup } from '../../../src/cli/simulate/group-file.ts';
import { readTrace } from '../../../src/cli/simulate/trace-file.ts';
import { readWorkers } from '../../../src/cli/simulate/workers.ts';
import { OPTIONS, type OptionSpec } from '../../../src/config/options.ts';
import { ConfigError, parseConfig, type RawOptions, variableName } from '../../../src/config.ts';
import { MarketplaceError } from '../../../src/market/errors.ts';
import { parseBaseUrl } from '../../../src/markets/vast/http/call.ts';
import { createAddressRules } from '../../../src/markets/vast/http/transport.ts';
import { parseOrderText, parseQueryText } from '../../../src/markets/vast/offers/query-text.ts';
import { parsePosition, textSince } from '../../../src/reach/log-lines.ts';
import { parseLogEvent } from '../../../src/reach/log-stream.ts';
import { parseRequest } from '../../../src/server/log-server.ts';
import { formatQueryText } from '../../builders/query-text.ts';
import { type FuzzTarget, json, refusing, sane, soundFields, tryReading } from '../target.ts';

const USUAL = { perf: 100, pricePerHour: 1, coldPricePerHour: 1, bootSeconds: 60, wakeSeconds: 5 };

/** Words of a command line that stand for numbers, times and objects; each refuses what it does not know. */
const WORDS: readonly ((text: string) => unknown)[] = [
  (text) => parseNumber(text, '--limit', { min: 0, whole: true }),
  (text) => parseTime(text, '--timeout'),
  (text) => parseAmount(text, '--price'),
  (text) => parseAvoidTarget(text).id,
  (text) => parseTarget(text),
];

/** Checks that a query stays the same when it is written out and read again. */
function readQuery(text: string): readonly string[] {
  const order = parseOrderText(text).type;
  const parsed = parseQueryText(text);
  if (parsed.type === 'invalid') {
    sane(parsed.at);
    return [order, parsed.type];
  }
  const again = parseQueryText(formatQueryText(parsed.filters));
  const same = again.type === 'parsed' && JSON.stringify(again.filters) === JSON.stringify(parsed.filters);
  if (!same) throw new Error(`written out it is ${formatQueryText(parsed.filters)}`);
  return [order, parsed.type];
}

/** Reads a stream of a log and a position in it; each position that is accepted leads to a place in any text. */
function readLogStream(text: string): readonly string[] {
  const types = text.split('\n').map((line) => parseLogEvent(line)?.type ?? 'none');
  const request = parseRequest({ method: 'GET', url: text });
  const since = 'since' in request ? request.since : text;
  const position = since === undefined ? undefined : parsePosition(since);
  if (position && !text.endsWith(textSince(position.mark, text).added)) throw new Error('invented text');
  return [
    ...new Set(types),
    'status' in request ? String(request.status) : 'read',
    String(position !== undefined),
  ];
}

const NAMES = Object.keys(OPTIONS);
/** Default of every setting. */
const DEFAULTS = Object.entries<OptionSpec>(OPTIONS).map(
  ([name, { defaultValue = '1' }]) => `${name}=${defaultValue}`,
);

/** Reads one setting per line, `name=value`, once as flags and once as environment. */
function readSettings(text: string): undefined {
  const given = text.split('\n').map((line) => line.split(/=(.*)/s));
  const flags = given.flatMap(([name = '', value = '']) => (NAMES.includes(name) ? [[name, value]] : []));
  const environment = flags.map(([name = '', value]) => [variableName(name), value]);
  const asFlags: RawOptions = Object.fromEntries(flags);
  tryReading(ConfigError, () => soundFields(parseConfig(asFlags, {})));
  tryReading(ConfigError, () => soundFields(parseConfig({}, Object.fromEntries(environment))));
}

function readAddress(text: string): undefined {
  const { origin, prefix } = parseBaseUrl(text);
  if (new URL(origin).origin !== origin || prefix.endsWith('/')) throw new Error(`${origin} ${prefix}`);
  createAddressRules(['10.0.0.0/8']).refuseOrigin(new URL(origin));
}

const GROUP = `apiVersion: ${API_VERSION}
kind: EndpointGroup
metadata: { name: a }
spec:
  template: { spec: { image: a, offers: [{ maxPricePerHour: "1" }] } }
  load: { static: { load: "3" } }
`;
const MACHINE = `apiVersion: ${API_VERSION}
kind: GpuInstance
metadata: { name: &x a }
spec: { image: *x, offers: [{ maxPricePerHour: "1" }] }
`;

/** Files, settings and words that people give. */
export const FILE_TARGETS: readonly FuzzTarget[] = [
  { name: 'group-file', seeds: [GROUP], run: refusing([CommandError], (text) => void readGroup(text, 'f')) },
  {
    name: 'workers-file',
    seeds: [
      '- { perf: 100, pricePerHour: "0.40", boot: 3m, wake: 20s, state: Hot, count: 2 }\n- {}\n',
      'workers: [{ coldPricePerHour: 0.02 }]\n',
    ],
    run: refusing([CommandError], (text) => {
      for (const model of readWorkers(text, 'f', { usual: USUAL, maxPrice: 2_000_000 }).models)
        soundFields(model);
    }),
  },
  {
    name: 'trace-file',
    seeds: ['seconds,load,hot,cold,queue\n0,100,2,1,5\n# a\n"60",2e2\n', '\uFEFFload,seconds\r\n1,2\r\n'],
    run: refusing([CommandError], (text) => {
      for (const point of readTrace(text, 'f').points) sane(point.load);
    }),
  },
  {
    name: 'manifests',
    seeds: [MACHINE, `${GROUP}---\n${MACHINE}`],
    run: refusing([CommandError], async (text) => void (await plannedObjects([{ text, file: 'f' }]))),
  },
  {
    name: 'offer-query',
    seeds: [
      'gpu_name=RTX_4090 num_gpus>=2 reliability>0.9',
      'geolocation in [SE,DE] verified=any',
      'dph_total-',
    ],
    run: readQuery,
  },
  {
    name: 'settings',
    seeds: [
      'marketplaceUrl=https://market.example\nleaderElectLeaseDuration=15s',
      'addressMap=203.0.113.0/24=127.0.0.1\nmarketplaceUrl=http://127.0.0.1:1\npacing=off',
      DEFAULTS.join('\n'),
    ],
    run: readSettings,
  },
  {
    name: 'log-stream',
    seeds: [
      '{"type":"text","text":"a\\n","position":"7.47DEQpj8HBS.0_47DEQpj8HBS"}\n{"type":"end","reason":"Complete","message":"End."}',
      '{"type":"note","reason":"Replaced","message":"It runs on machine 8 now."}',
      '/log/team/trainer?since=7.47DEQpj8HBS.0_47DEQpj8HBS&follow=true',
      '7.ypeBEsobvcr.1_ypeBEsobvcr',
    ],
    run: readLogStream,
  },
  {
    name: 'address',
    seeds: ['https://console.example/api/', 'http://[::1]:8080', 'https://10.0.0.1'],
    run: refusing([MarketplaceError], readAddress),
  },
  {
    name: 'words',
    seeds: ['gpui/trainer', '4711', '1h30m', '0.80', 'machine/5'],
    run(text) {
      for (const read of WORDS) tryReading(CommandError, () => soundFields({ value: read(text) }));
    },
  },
  {
    name: 'shown-body',
    seeds: ['{"api_key":"canary","onstart":"canary","args":["canary"],"rows":[{"key":"canary","id":1}]}'],
    run: (text) => {
      const shown = redactedBody(text);
      json((value) => {
        const key: unknown = Object(value).api_key;
        if (typeof key === 'string' && key.length > 12 && shown.includes(key))
          throw new Error('a key is shown');
      })(text);
    },
  },
];
