#include "json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Deeper than any container's configuration; a deeper text is refused, not recursed into.
#define DEPTH_MAX 64

struct parser {
    const char *at;
    int depth;
};

static struct json *parse_value(struct parser *p);

static void skip_space(struct parser *p) {
    while (isspace((unsigned char)*p->at)) {
        p->at++;
    }
}

static int take(struct parser *p, char c) {
    skip_space(p);
    if (*p->at != c) {
        return 0;
    }
    p->at++;
    return 1;
}

static struct json *new_value(enum json_kind kind) {
    struct json *value = calloc(1, sizeof *value);
    if (value == NULL) {
        abort();
    }
    value->kind = kind;
    return value;
}

static char *put_utf8(char *out, unsigned code) {
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3F));
    } else {
        // A surrogate pair becomes two such triples; no name that is compared here has one.
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    }
    return out;
}

static int parse_hex4(struct parser *p, unsigned *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        if (!isxdigit((unsigned char)*p->at)) {
            return 0;
        }
        char digit[2] = {*p->at, 0};
        *code = *code * 16 + (unsigned)strtoul(digit, NULL, 16);
    }
    return 1;
}

static char *parse_escape(struct parser *p, char *out) {
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char c = *p->at;
    if (c == 'u') {
        unsigned code;
        p->at++;
        return parse_hex4(p, &code) ? put_utf8(out, code) : NULL;
    }
    const char *found = c == 0 ? NULL : strchr(from, c);
    if (found == NULL) {
        return NULL;
    }
    p->at++;
    *out++ = to[found - from];
    return out;
}

// Parses a string after the opening quote; NULL if the string does not end.
static char *parse_text(struct parser *p) {
    char *text = malloc(strlen(p->at) + 1); // no escape is shorter than what it stands for
    if (text == NULL) {
        abort();
    }
    char *out = text;
    while (*p->at != '"') {
        if (*p->at == 0) {
            return NULL;
        }
        if (*p->at != '\\') {
            *out++ = *p->at++;
            continue;
        }
        p->at++;
        out = parse_escape(p, out);
        if (out == NULL) {
            return NULL;
        }
    }
    p->at++;
    *out = 0;
    char *fitted = realloc(text, (size_t)(out - text) + 1);
    return fitted != NULL ? fitted : text;
}

static struct json *parse_member(struct parser *p, int named) {
    char *name = NULL;
    if (named) {
        name = take(p, '"') ? parse_text(p) : NULL;
        if (name == NULL || !take(p, ':')) {
            return NULL;
        }
    }
    struct json *value = parse_value(p);
    if (value != NULL) {
        value->name = name;
    }
    return value;
}

// Parses the members after the opening bracket.
static struct json *parse_members(struct parser *p, enum json_kind kind) {
    char end = kind == JSON_OBJECT ? '}' : ']';
    struct json *parent = new_value(kind);
    struct json **last = &parent->child;
    if (take(p, end)) {
        return parent;
    }
    do {
        *last = parse_member(p, kind == JSON_OBJECT);
        if (*last == NULL) {
            return NULL;
        }
        last = &(*last)->next;
    } while (take(p, ','));
    return take(p, end) ? parent : NULL;
}

// Parses a number, true, false or null.
static struct json *parse_word(struct parser *p) {
    size_t length = strspn(p->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    if (length == 0) {
        return NULL;
    }
    struct json *value = new_value(JSON_NUMBER);
    value->text = strndup(p->at, length);
    p->at += length;
    if (strcmp(value->text, "null") == 0) {
        value->kind = JSON_NULL;
    } else if (isalpha((unsigned char)value->text[0])) {
        value->kind = JSON_BOOL;
    }
    return value;
}

static struct json *parse_value(struct parser *p) {
    if (++p->depth > DEPTH_MAX) {
        return NULL;
    }
    struct json *value;
    if (take(p, '{')) {
        value = parse_members(p, JSON_OBJECT);
    } else if (take(p, '[')) {
        value = parse_members(p, JSON_ARRAY);
    } else if (take(p, '"')) {
        value = new_value(JSON_STRING);
        value->text = parse_text(p);
        value = value->text == NULL ? NULL : value;
    } else {
        value = parse_word(p);
    }
    p->depth--;
    return value;
}

struct json *json_parse(const char *text) {
    struct parser p = {.at = text};
    struct json *value = parse_value(&p);
    skip_space(&p);
    return *p.at == 0 ? value : NULL;
}

const struct json *json_member(const struct json *object, const char *name) {
    if (object == NULL || object->kind != JSON_OBJECT) {
        return NULL;
    }
    for (const struct json *member = object->child; member != NULL; member = member->next) {
        if (strcmp(member->name, name) == 0) {
            return member;
        }
    }
    return NULL;
}

const char *json_string(const struct json *object, const char *name) {
    const struct json *member = json_member(object, name);
    return member != NULL && member->kind == JSON_STRING ? member->text : NULL;
}
