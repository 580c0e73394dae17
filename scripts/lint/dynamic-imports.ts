/**
 * The rule `dynamic-imports/refused` of oxlint: refuses of `import('…')` what `no-restricted-imports` refuses of static
 * imports, which are all that it sees.
 */

/** A module path that is refused, and why. */
export interface RefusedImport {
  readonly regex: string;
  readonly message: string;
}

/** The part of oxlint's syntax tree that the rule reads. */
interface ImportExpression {
  readonly source: { readonly value?: unknown };
}

interface RuleContext {
  readonly options: readonly RefusedImport[];
  report(finding: { readonly node: ImportExpression; readonly message: string }): void;
}

function create(context: RuleContext) {
  const refused = context.options.map(({ regex, message }) => ({ pattern: new RegExp(regex), message }));
  return {
    ImportExpression(node: ImportExpression) {
      const path = String(node.source.value ?? '');
      for (const { pattern, message } of refused) {
        if (pattern.test(path)) context.report({ node, message });
      }
    },
  };
}

export default { meta: { name: 'dynamic-imports' }, rules: { refused: { meta: { schema: false }, create } } };
