/* In place of `zod` in a browser: views import modules that define schemas, but no view parses. Each schema is one value
 * that accepts every call and property, and no code is compiled at run time, which the page's policy forbids. */

type Anything = (() => Anything) & { readonly [name: string]: Anything };

const anything: Anything = new Proxy((() => anything) as Anything, {
  get: () => anything,
  apply: () => anything,
});

export {
  anything as _default,
  anything as any,
  anything as array,
  anything as boolean,
  anything as discriminatedUnion,
  anything as enum,
  anything as int,
  anything as iso,
  anything as lazy,
  anything as literal,
  anything as number,
  anything as object,
  anything as optional,
  anything as preprocess,
  anything as record,
  anything as strictObject,
  anything as string,
  anything as union,
  anything as unknown,
};
