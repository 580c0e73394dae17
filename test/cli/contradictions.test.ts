import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { omitUndefined } from '../../src/lib/json.ts';
import { type Desk, desk } from './desk.ts';

/* Two wishes that exclude each other, one after the other and at once: what happens is said, and no disk is lost. */

const spec = { image: 'x', offers: [{ maxPricePerHour: '1' }] };
const status = { phase: 'Running', instanceId: '7', rentedAt: '2026-11-20T10:00:00Z' };
const ASKED = { [annotations.replaceAt]: '2026-11-20T10:00:01Z' };
const WITHDRAWN = 'the request to replace machine 7 is withdrawn, its disk is kept';

let here: Desk;
beforeEach(async () => {
  here = await desk();
  here.account('default');
});
afterEach(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));
const put = (more: { readonly spec?: object; readonly annotations?: object } = {}) =>
  here.put('gpuinstances', {
    metadata: { name: 'x', ...(more.annotations && { annotations: more.annotations }) },
    ...{ spec: { ...spec, ...more.spec }, status },
  });
/** Returns the stored object. */
async function stored() {
  const path = '/apis/gpurental.dev/v1alpha1/namespaces/team/gpuinstances/x';
  const { body } = await here.stored({ method: 'GET', path, query: '', headers: {}, body: undefined });
  const { metadata, spec: now } = body as {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: { readonly powerState?: string };
  };
  const { [annotations.replaceAt]: asked, [annotations.hold]: hold } = metadata.annotations ?? {};
  return omitUndefined({ powerState: now.powerState, asked, hold });
}

describe('a requested replacement', () => {
  test.each([
    ['stop gpui/x', 'powerState set to Stopped', { powerState: 'Stopped' }],
    ['stop --all --yes', 'powerState set to Stopped', { powerState: 'Stopped' }],
    ['hold gpui/x', 'on hold', { hold: 'true', powerState: 'Running' }],
  ])('is withdrawn by %s, which says so', async (line, did, left) => {
    put({ annotations: ASKED });
    const { exitCode, stdout } = await gpuRent(line);
    expect({ exitCode, stdout: stdout.split('\n')[0] }).toEqual({
      exitCode: 0,
      stdout: `gpui/x ${did}; ${WITHDRAWN}`,
    });
    expect(await stored()).toEqual(left);
  });

  test('is withdrawn by a stop of a machine that is stopped already', async () => {
    put({ annotations: ASKED, spec: { powerState: 'Stopped' } });
    expect(await gpuRent('stop gpui/x')).toMatchObject({
      stdout: `gpui/x powerState is Stopped; ${WITHDRAWN}\n`,
    });
    expect(await stored()).toEqual({ powerState: 'Stopped' });
  });

  test.each([
    ['start gpui/x', { powerState: 'Stopped' }, 'powerState set to Running; machine 7 is replaced then'],
    ['pause gpui/x', {}, 'paused; machine 7 is replaced after gpu-rent resume'],
    ['resume gpui/x', { paused: true }, 'resumed; machine 7 is replaced now'],
    ['hold gpui/x --release', {}, 'released; machine 7 is replaced now'],
  ])('is named by %s, which lets it happen', async (line, more, did) => {
    put({ annotations: ASKED, spec: more });
    const { exitCode, stdout } = await gpuRent(line);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `gpui/x ${did}, as requested: gpu-rent hold keeps it and its disk\n`,
    });
  });

  test('that was met is not named', async () => {
    put({ annotations: { [annotations.replaceAt]: '2026-11-20T09:00:00Z' } });
    expect(await gpuRent('stop gpui/x')).toMatchObject({ stdout: 'gpui/x powerState set to Stopped\n' });
  });
});

describe('replace', () => {
  test('of a stopped machine is refused: it would wait for the start, and then take the disk', async () => {
    put({ spec: { powerState: 'Stopped' } });
    const { exitCode, stderr } = await gpuRent('replace gpui/x --yes');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr:
        'Error: gpui/x is stopped: its machine is not replaced, and its disk is kept.\nWhat to do: Start it first: gpu-rent start gpui/x -n team\n',
    });
    expect(await stored()).toEqual({ powerState: 'Stopped' });
  });

  test.each([
    ['stop gpui/x', 'is stopped', { powerState: 'Stopped' }],
    ['hold gpui/x', 'is on hold', { powerState: 'Running', hold: 'true' }],
    ['pause gpui/x', 'is paused', { powerState: 'Running' }],
  ])('is refused if %s comes between its look and its write', async (line, why, left) => {
    put();
    let others = 0;
    here.cluster.answer = async (asked) => {
      if (asked.method !== 'PATCH' || others > 0) return here.stored(asked);
      others += 1;
      expect((await gpuRent(line)).exitCode).toBe(0);
      return here.stored(asked);
    };
    const { exitCode, stderr } = await gpuRent('replace gpui/x --yes');
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(`gpui/x ${why}`) });
    expect(await stored()).toEqual(left);
  });

  test('is asked for all the same if the status alone was written meanwhile', async () => {
    put();
    let writes = 0;
    here.cluster.answer = (asked) => {
      if (asked.method === 'PATCH') {
        writes += 1;
        if (writes === 1) here.status('gpuinstances', 'x', { ...status, phase: 'Loading' });
      }
      return here.stored(asked);
    };
    expect(await gpuRent('replace gpui/x --yes')).toMatchObject({ exitCode: 0 });
    expect(await stored()).toMatchObject({ asked: '2026-11-20T10:00:01Z' });
    expect(writes).toBe(2);
  });
});

test('a stop that comes after a replace of the same moment takes its request away', async () => {
  put();
  let others = 0;
  here.cluster.answer = async (asked) => {
    if (asked.method !== 'PATCH' || others > 0) return here.stored(asked);
    others += 1;
    expect((await gpuRent('replace gpui/x --yes')).exitCode).toBe(0);
    return here.stored(asked);
  };
  expect(await gpuRent('stop gpui/x')).toMatchObject({ exitCode: 0 });
  expect(await stored()).toEqual({ powerState: 'Stopped' });
});

test('wake of a paused group is refused', async () => {
  here.put('endpointgroups', {
    metadata: { name: 'chat' },
    spec: { template: { spec }, pause: { scaleUp: true, scaleDown: true } },
  });
  const { exitCode, stderr } = await gpuRent('wake epg/chat');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr:
      'Error: epg/chat is paused: no worker is woken.\nWhat to do: End the pause: gpu-rent resume epg/chat -n team\n',
  });
});

test.each(['stop', 'start', 'restart', 'hold', 'pause', 'resume'])(
  '%s of an object that is being deleted changes nothing',
  async (verb) => {
    put();
    here.cluster.answer = async (asked) => {
      expect(asked.method).toBe('GET');
      const { status: code, body } = await here.stored(asked);
      const { metadata, ...object } = Object(body);
      return {
        status: code,
        body: { ...object, metadata: { ...metadata, deletionTimestamp: '2026-11-20T10:00:00Z' } },
      };
    };
    const { exitCode, stderr } = await gpuRent(`${verb} gpui/x`);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr:
        'Error: gpui/x is being deleted; nothing was changed.\nWhat to do: Wait for its end: gpu-rent wait gpui/x --for delete -n team\n',
    });
  },
);
