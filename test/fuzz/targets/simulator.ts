import { scopeAllows } from '../../../src/simulator/calls/authenticate.ts';
import { fileOf, parseBody } from '../../../src/simulator/calls/body.ts';
import { modelledFiles } from '../../../src/simulator/machine-files.ts';
import { readFileCommand, runFileCommand } from '../../../src/simulator/machines/file-command.ts';
import { Refusal } from '../../../src/simulator/refusal.ts';
import { routes } from '../../../src/simulator/routes/registry.ts';
import { parseSearchText } from '../../../src/simulator/scaling/search-text.ts';
import { readFilters } from '../../../src/simulator/scaling/worker-lifecycle.ts';
import { readWorld } from '../../../src/simulator/world/world-document.ts';
import { simulatedService } from '../../builders/simulated-service.ts';
import { type FuzzTarget, passOver, refusing } from '../target.ts';

/** Calls one after the other, parted by empty lines: method and path, then the body. */
async function makeCalls(text: string): Promise<readonly string[]> {
  const service = simulatedService({ catalog: [{ id: 1 }, { id: 2 }] });
  const behaviours: string[] = [];
  for (const call of text.split('\n\n').slice(0, 6)) {
    const [spec = '', ...body] = call.split('\n');
    // Control calls may stop time or make answers fail, which is what they are for.
    if (!/^[A-Z]{1,7} \/(?!sim\b|\/)[\x21-\x7e]*$/.test(spec)) continue;
    const { status, body: said } = await service.call(spec, undefined, { rawBody: body.join('\n') });
    if (status >= 500) throw new Error(`${spec} answers ${status}: ${JSON.stringify(said)}`);
    behaviours.push(`${spec.split('?')[0]} ${status} ${Object(said).error ?? ''}`.replaceAll(/\d{5,}/g, '#'));
  }
  return behaviours;
}

const { simulator } = simulatedService({ catalog: [{ id: 1 }] });

function readDocument(text: string): undefined {
  const world = readWorld(simulator.world(), parseBody(text));
  if (!Number.isFinite(world.now)) throw new Error('a world without time');
}

const [ROUTE] = routes;

function readScope(text: string): readonly string[] {
  if (!ROUTE) throw new Error('the simulator serves nothing');
  const call = { route: ROUTE, params: { id: '7' }, query: new URLSearchParams(), body: {} };
  const category = { constraints: { id: { eq: '$id' } } };
  return [String(scopeAllows(category, call, text))];
}

function readParams(text: string): undefined {
  for (const read of [parseSearchText, (searchParams: string) => readFilters({ searchParams })]) {
    try {
      read(text);
    } catch (error) {
      passOver([Refusal, SyntaxError], error);
    }
  }
}

const RENT = 'PUT /api/v0/asks/1/\n{"image":"a","disk":20,"env":{"-p 22:22":"1"},"onstart":"x","label":"l"}';
const COLUMNS = encodeURIComponent('{"label":{"eq":"l"}}');
const ORDER = encodeURIComponent('[{"col":"id","dir":"desc"}]');

/** Throws if a command other than `rm` changes the files, or if its output is too long. */
function runCommand(text: string): undefined {
  let files: Readonly<Record<string, number>> = { 'a b': 1, 'c/d/e': 2, 'tmp/': 0 };
  const sizes = { createdAt: 0, onstart: null, files };
  const command = readFileCommand(text);
  const output = runFileCommand(
    command,
    modelledFiles(sizes, (left) => (files = left)),
    { commandPaths: 'both' },
  );
  if (command.name !== 'rm' && files !== sizes.files) throw new Error(`${command.name} changed files`);
  if (output.length > 65_536) throw new Error('the output has no bound');
}

/** Targets that parse requests of the simulator's callers. */
export const SIMULATOR_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'simulator-calls',
    seeds: [
      `${RENT}\n\nGET /api/v0/instances/\n\nDELETE /api/v0/instances/20000001/`,
      `${RENT}\n\nGET /api/v1/instances/?select_filters=${COLUMNS}&order_by=${ORDER}&limit=1&select_cols=%5B%22id%22%5D&after_token=WzFd`,
      'POST /api/v0/bundles/\n{"gpu_name":{"eq":"RTX 4090"},"order":[["dph_total","asc"]],"type":"bid","limit":3}',
      'GET /api/v0/bundles/?q=%7B%22num_gpus%22%3A%7B%22gte%22%3A1%7D%7D',
      'POST /api/v0/endptjobs/\n{"endpoint_name":"e","min_load":1,"max_workers":2}\n\nPOST /api/v0/workergroups/\n{"endpoint_name":"e","search_params":"num_gpus>=1","template_id":1}',
      'POST /api/v0/auth/apikeys/\n{"name":"k","permissions":{"api":{"misc":{}}},"key_params":"{}"}\n\nGET /api/v0/auth/apikeys/',
    ],
    run: makeCalls,
  },
  {
    name: 'simulator-world',
    seeds: [
      '{"now":5,"seed":3,"settings":{"limits":{"bodyBytes":100}},"counters":{"contract":7},"hosts":[]}',
      '{"users":[]}',
    ],
    run: refusing([Refusal], readDocument),
  },
  {
    name: 'simulator-command',
    seeds: ['ls -lA var/tmp/.gpurental', 'rm -rf "a b" \'c\' d\\ e', 'du -sh -- /x/../y'],
    run: refusing([Refusal], runCommand),
  },
  { name: 'simulator-scope', seeds: ['{"id":7}', '{"id":"8"}'], run: readScope },
  {
    name: 'simulator-search',
    seeds: ['gpu_ram>=23 num_gpus in [1,2] verified=True gpu_name="RTX_4090"', '{"num_gpus":{"gte":1}}'],
    run: readParams,
  },
  {
    name: 'simulator-form',
    seeds: ['--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\nabc\r\n--x--\r\n'],
    run: (text) => {
      const form = Buffer.from(text);
      if (fileOf(form, 'multipart/form-data; boundary=x').length > form.length)
        throw new Error('more came out');
    },
  },
];
