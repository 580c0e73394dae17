import { describe, expect, test } from 'vitest';
import type { Json } from '../json.ts';
import {
  between,
  fieldsOf,
  flag,
  integer,
  list,
  number,
  object,
  readField,
  required,
  text,
} from './fields.ts';

const FIELDS = {
  text,
  number,
  integer,
  flag,
  object,
  list,
  share: between({ min: 0, max: 1 }),
  named: required(text),
  id: required(integer),
};

describe('a field of a body', () => {
  test.each<[keyof typeof FIELDS, Json, unknown]>([
    ['text', 'a', 'a'],
    ['text', '', ''],
    ['text', null, undefined],
    ['number', '1.5', 1.5],
    ['number', '', undefined],
    ['integer', '5', 5],
    ['flag', 'True', true],
    ['flag', false, false],
    ['object', { a: 1 }, { a: 1 }],
    ['list', [1, 'a'], [1, 'a']],
    ['share', '0.5', 0.5],
    ['named', 'a', 'a'],
    ['id', 0, 0],
  ])('%s takes %j as %j', (name, value, read) => {
    expect(readField(FIELDS[name], { [name]: value }, name)).toEqual(read);
  });

  test.each<[keyof typeof FIELDS, Json, string]>([
    ['text', 1, 'text must be a string.'],
    ['number', 'x', 'number must be a number.'],
    ['number', true, 'number must be a number.'],
    ['integer', 1.5, 'integer must be a whole number.'],
    ['integer', 2 ** 60, 'integer must be a whole number.'],
    ['flag', 'yes', 'flag must be true or false.'],
    ['flag', 'constructor', 'flag must be true or false.'],
    ['object', [], 'object must be an object.'],
    ['list', {}, 'list must be a list.'],
    ['share', 2, 'share must be a number from 0 to 1.'],
    ['named', '', 'named is required.'],
    ['id', null, 'id is required.'],
  ])('%s refuses %j and names itself', (name, value, msg) => {
    expect(() => readField(FIELDS[name], { [name]: value }, name)).toThrow(
      expect.objectContaining({ status: 400, code: 'bad_request', message: msg }),
    );
  });
});

test('refuses the fields of a body in the order in which they are asked for', () => {
  const body = fieldsOf({ first: text, second: text }, () => ({ first: 1, second: 2, third: 'ignored' }));
  expect(() => body.second).toThrow('second must be a string.');
  expect(() => body.first).toThrow('first must be a string.');
  expect(body).not.toHaveProperty('third');
});
