import { describe, expect, test } from 'vitest';
import { applyDefaults, problemsOf } from '../memory-kube/schema.ts';
import { applyEdit, pathsBetween } from './edit.ts';
import { pathsOf } from './edits.ts';
import { ONE_VALUE } from './examples/examples.ts';
import { drawPlan } from './plans.ts';
import { editedOf, SUBJECTS } from './subjects.ts';

const all = SUBJECTS.map(editedOf);

describe.for(all)('edits of $subject.plural', ({ subject: { examples }, schema, first, edits }) => {
  const reached = (answer: string): ReadonlySet<string> =>
    new Set(
      edits
        .filter((edit) => edit.answer === answer)
        .flatMap((edit) => pathsBetween(first, applyEdit(first, first, edit))),
    );
  const paths = pathsOf(schema);

  test('reach every path of the schema with a value that is taken, or a reason says why not', () => {
    const taken = reached('taken');
    const missing = paths.filter((path) => !taken.has(path) && examples.untaken[path] === undefined);
    expect(missing).toEqual([]);
  });

  test('leave nothing out that is said to be left out', () => {
    const taken = reached('taken');
    expect(Object.keys(examples.untaken).filter((path) => taken.has(path) || !paths.includes(path))).toEqual(
      [],
    );
  });

  test('try a refused value where a reason says that each is refused', () => {
    const refused = reached('refusedByRule');
    const ruled = Object.keys(examples.untaken).filter((path) => examples.untaken[path] !== ONE_VALUE);
    expect(ruled.filter((path) => !refused.has(path))).toEqual([]);
  });

  test('reach every path of the schema with a value that the schema refuses', () => {
    const refused = reached('refused');
    expect(paths.filter((path) => !refused.has(path))).toEqual([]);
  });

  test.for(edits)('$answer: $name', (edit) => {
    const spec = applyDefaults(applyEdit(first, first, edit), schema);
    const problems = problemsOf(spec, schema);
    if (edit.answer === 'refused') expect(problems).not.toEqual([]);
    else expect(problems).toEqual([]);
  });

  test('have names of their own', () => {
    const names = edits.map(({ name }) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });
});

describe('a chain of edits', () => {
  const chains = Array.from({ length: 200 }, (_, seed) => drawPlan(all, seed));

  test('is the same for the same seed', () => {
    expect(drawPlan(all, 7).name).toBe(drawPlan(all, 7).name);
    expect(new Set(chains.map(({ name }) => name)).size).toBe(chains.length);
  });

  test('has three to five edits, taken and refused ones, of every kind', () => {
    expect(new Set(chains.map(({ steps }) => steps.length))).toEqual(new Set([3, 4, 5]));
    const answers = chains.flatMap(({ steps }) => steps.map(({ edit }) => edit.answer));
    expect(new Set(answers)).toEqual(new Set(['taken', 'refused']));
    expect(new Set(chains.map(({ edited }) => edited.subject.plural)).size).toBe(SUBJECTS.length);
  });
});

describe('an edit after another', () => {
  const first = { onStart: 'a', disk: '20G', paused: false };

  test('keeps what the other did to a field of another topic', () => {
    const spec = applyEdit({ ...first, disk: '40G' }, first, edit({ paused: true }));
    expect(spec).toEqual({ onStart: 'a', disk: '40G', paused: true });
  });

  test('takes back what the other did to a field of its own topic, since a rule may bar both', () => {
    const spec = applyEdit(
      { ...first, onStart: 'b' },
      first,
      edit({ onStartFrom: { secretKeyRef: {} }, onStart: null }),
    );
    expect(spec).toEqual({ onStartFrom: { secretKeyRef: {} }, disk: '20G', paused: false });
    expect(applyEdit(spec, first, edit({ onStart: 'c' }))).toEqual({ ...first, onStart: 'c' });
  });

  const edit = (change: Record<string, never> | object) =>
    ({ name: 'an edit', change: { ...change }, answer: 'taken' }) as const;
});
