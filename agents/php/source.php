<?php
// SPDX-License-Identifier: Apache-2.0
// What can be learned of PHP code without running it.

namespace Glovebox;

/** Code cut behind each statement of the outermost level. */
function statements(string $code): array
{
    $found = [];
    $current = '';
    $open = [];
    foreach (@\PhpToken::tokenize('<?php ' . $code) as $index => $token) {
        if ($index === 0) {
            continue;
        }
        $current .= $token->text;
        $closed = null;
        if (in_array($token->text, ['{', '(', '[', '${'], true)) {
            $inText = $token->is([T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES]);
            $open[] = $inText ? 'text' : $token->text;
        } elseif (in_array($token->text, ['}', ')', ']'], true)) {
            $closed = array_pop($open);
        }
        if ($open === [] && ($token->text === ';' || $closed === '{')) {
            $found[] = $current;
            $current = '';
        }
    }
    $blank = array_filter(
        @\PhpToken::tokenize('<?php ' . $current),
        fn (\PhpToken $token): bool => !$token->isIgnorable() && !$token->is(T_OPEN_TAG),
    ) === [];
    if ($blank && $found !== []) {
        $found[count($found) - 1] .= $current;
    } elseif (!$blank) {
        $found[] = $current;
    }
    return $found;
}

/**
 * What the code declares at its outermost level although it exists already. PHP would end itself
 * over that, which for a cell that is run a second time is a high price.
 */
function redeclared(array $statements): ?string
{
    $pattern = '/\A\s*(?:(?:abstract|final|readonly)\s+)*(function|class|interface|trait|enum)'
        . '\s+&?\s*([A-Za-z_]\w*)/i';
    $seen = [];
    foreach ($statements as $statement) {
        $tokens = @\PhpToken::tokenize('<?php ' . $statement);
        $plain = '';
        foreach (array_slice($tokens, 1) as $token) {
            $plain .= $token->is([T_COMMENT, T_DOC_COMMENT]) ? ' ' : $token->text;
            if (strlen($plain) > 400) {
                break;
            }
        }
        if (!preg_match($pattern, $plain, $parts)) {
            continue;
        }
        [, $kind, $name] = $parts;
        $isFunction = strtolower($kind) === 'function';
        $key = ($isFunction ? 'f ' : 'c ') . strtolower($name);
        $exists = $isFunction ? function_exists($name) : class_exists($name, false)
            || interface_exists($name, false) || trait_exists($name, false);
        if ($exists || isset($seen[$key])) {
            return strtolower($kind) . ' ' . $name;
        }
        $seen[$key] = true;
    }
    return null;
}

/** True when PHP could compile the code. */
function parses(string $code): bool
{
    return problem($code) === null;
}

function problem(string $code): ?string
{
    try {
        \PhpToken::tokenize('<?php ' . $code, TOKEN_PARSE);
        return null;
    } catch (\ParseError $error) {
        return $error->getMessage();
    }
}

/** True for an assignment: its value is not what the user asked for. */
function assigns(string $statement): bool
{
    $operator = '/\A(?:[-+*\/.%&|^]|\*\*|<<|>>|\?\?)?=\z/';
    $depth = 0;
    foreach (@\PhpToken::tokenize('<?php ' . $statement) as $token) {
        $depth += in_array($token->text, ['(', '[', '{'], true) ? 1 : 0;
        $depth -= in_array($token->text, [')', ']', '}'], true) ? 1 : 0;
        if ($depth === 0 && preg_match($operator, $token->text)) {
            return true;
        }
        if ($token->is([T_FN, T_FUNCTION])) {
            return false;
        }
    }
    return false;
}

function leading_newlines(string $text): int
{
    return substr_count(substr($text, 0, strspn($text, " \t\r\n")), "\n");
}

function completeness(string $code): string
{
    $code = preg_replace('/\A\s*<\?php\b/', '', $code);
    // A statement without its semicolon is whole.
    if (parses($code) || parses("$code\n;")) {
        return 'complete';
    }
    $problem = problem($code) . problem("$code\n;");
    return preg_match('/unexpected end of file|Unclosed|unterminated/i', $problem)
        ? 'incomplete' : 'invalid';
}

function complete(string $code, mixed $cursor, array $variables): array
{
    $length = mb_len($code);
    $cursor = is_int($cursor) && $cursor >= 0 && $cursor <= $length ? $cursor : $length;
    preg_match("/\A.{0,$cursor}/su", $code, $head);
    preg_match('/(\$?)([A-Za-z_]\w*)?\z/', $head[0] ?? '', $parts);
    $word = $parts[2] ?? '';
    $names = ($parts[1] ?? '') === '$' ? array_keys($variables) : [
        ...array_merge(...array_values(get_defined_functions())), ...get_declared_classes(),
        ...array_keys(get_defined_constants()),
    ];
    $matches = array_filter(
        array_map('strval', $names),
        fn (string $name): bool => str_starts_with($name, $word) && !str_contains($name, '\\'),
    );
    sort($matches);
    return [
        'matches' => array_slice(array_values(array_unique($matches)), 0, 1000),
        'start' => $cursor - strlen($word), 'end' => $cursor,
    ];
}

function mb_len(string $text): int
{
    return (int) preg_match_all('/./su', $text);
}

/** The guest's variables. */
function variables(): array
{
    $own = ['GLOBALS', '_GET', '_POST', '_COOKIE', '_FILES', '_SERVER', '_ENV', '_REQUEST',
        'argv', 'argc', '__glovebox'];
    return array_diff_key($GLOBALS, array_flip($own));
}

function listed(array $variables): array
{
    $list = [];
    foreach (array_slice($variables, 0, 1000) as $name => $value) {
        $text = is_scalar($value) ? var_export($value, true)
            : (is_array($value) ? 'array of ' . count($value) : get_debug_type($value));
        $list[] = [
            'name' => "\$$name", 'type' => get_debug_type($value), 'value' => substr($text, 0, 200),
        ];
    }
    return $list;
}

/** What print_r shows for values with parts; literals for the others. */
function print_value(mixed $value): string
{
    return is_scalar($value) ? var_export($value, true) : print_r($value, true);
}
