import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClusterAccess } from '../../cluster/connect.ts';
import { sharedCluster } from '../../cluster/shared-cluster.ts';
import { installDefinitions } from '../../crds/install.ts';
import { isObject, type JsonObject } from '../memory-kube/json.ts';
import { applyEdit } from './edit.ts';
import { drawPlan } from './plans.ts';
import { editedOf, SUBJECTS } from './subjects.ts';

const CRDS = join(import.meta.dirname, '..', '..', '..', 'crds');
const all = SUBJECTS.map(editedOf);

let cluster: ClusterAccess;
let namespace = '';
beforeAll(async () => {
  cluster = sharedCluster();
  await installDefinitions(cluster.admin);
  namespace = await cluster.createNamespace('edits');
});
afterAll(() => cluster.disconnect());

/** Rules that the in-memory API does not have say here whether an edit means what the sequences take it for. */
describe.for(all)('the real API server on edits of $subject.plural', ({ subject, first, edits }) => {
  const collection = () => `/apis/gpurental.dev/v1alpha1/namespaces/${namespace}/${subject.plural}`;
  let object: JsonObject = {};

  beforeAll(async () => {
    const body = { ...header(subject.plural), metadata: { name: subject.name }, spec: first };
    const reply = await cluster.admin.request({ method: 'POST', path: collection(), body });
    if (isObject(reply.body)) object = reply.body;
  });

  /** Returns the server's refusal in a dry run; nothing is stored. */
  async function problemOf(spec: JsonObject): Promise<string> {
    const path = `${collection()}/${subject.name}?dryRun=All`;
    const body = { ...object, spec };
    const reply = await cluster.admin.request({ method: 'PUT', path, body, accept: [422] });
    return reply.status === 422 && isObject(reply.body) ? String(reply.body['message']) : '';
  }

  test('takes and refuses each of them as the sequences expect', async () => {
    const others: string[] = [];
    for (const edit of edits) {
      const problem = await problemOf(applyEdit(first, first, edit));
      if ((problem === '') !== (edit.answer === 'taken'))
        others.push(`${edit.answer} ${edit.name}: ${problem}`);
    }
    expect(others).toEqual([]);
  });

  test('takes every state of a chain of edits', async () => {
    const others: string[] = [];
    const chains = Array.from({ length: 120 }, (_, seed) => drawPlan(all, seed));
    for (const { edited, steps } of chains.filter((chain) => chain.edited.subject === subject)) {
      let spec = first;
      for (const { edit } of steps.filter((step) => step.edit.answer === 'taken')) {
        spec = applyEdit(spec, edited.first, edit);
        const problem = await problemOf(spec);
        if (problem !== '') others.push(`${edit.name}: ${problem}`);
      }
    }
    expect(others).toEqual([]);
  });
});

function header(plural: string): JsonObject {
  const kind = /^ {4}kind: (.+)$/m.exec(
    readFileSync(join(CRDS, `gpurental.dev_${plural}.yaml`), 'utf8'),
  )?.[1];
  return { apiVersion: 'gpurental.dev/v1alpha1', kind };
}
