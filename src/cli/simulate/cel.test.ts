import { expect, test } from 'vitest';
import { compileCel } from './cel.ts';

const self = {
  count: 3,
  name: 'chat',
  wait: '90s',
  price: '0.40',
  offers: [{ price: '0.30' }, { price: '0.50' }],
};

test.each([
  ['self.count <= 3 && self.count >= 3 && !(self.count < 3 || self.count > 3)', true],
  ["self.name == 'chat' && self.name != 'other'", true],
  ["duration(self.wait) <= duration('1m30s')", true],
  ["double(self.price) < double('0.4')", false],
  ["has(self.name) ? self.name.matches('^c') : self.count == 0", true],
  ['!has(self.other) || self.other == 1', true],
  ['self.offers.exists(offer, double(offer.price) > double(self.price))', true],
  ["self.offers.exists(o, o.price == '1')", false],
  ['type(self.count) == int && type(self.name) == string', true],
  ["'%s has %d'.format([self.name, self.count])", 'chat has 3'],
  ["'is ' + self.name + '\\'s'", "is chat's"],
])('evaluates %s to %s', (source, value) => {
  expect(compileCel(source)({ self })).toBe(value);
});

test.each([
  ['a method', 'self.name.reverse(1)'],
  ['a function', 'quantity(self.name)'],
  ['a sign', 'self.count % 2 == 0'],
  ['more than one expression', 'self.count self.name'],
  ['half an expression', 'self.count <='],
])('throws when an expression has %s that is not supported', (_what, source) => {
  expect(() => compileCel(source)).toThrow(/^CEL: un/);
});

test.each([
  ['a field is missing', 'self.other == 1'],
  ['a name is unknown', 'other == 1'],
  ['a value is no bool', 'self.count || self.name'],
  ['a text is compared', 'self.name < 3'],
])('throws when %s', (_what, source) => {
  expect(() => compileCel(source)({ self })).toThrow(/^CEL: /);
});
