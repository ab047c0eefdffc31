"""Fuzzy joins: tokens, distances, the most similar rows, rules and error rates, by sets, dicts and loops."""

import math


def edit_distance(a, b):
    """Levenshtein distance by the textbook table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        following = [i]
        for j, y in enumerate(b, 1):
            following.append(min(row[j] + 1, following[-1] + 1, row[j - 1] + (x != y)))
        row = following
    return row[-1]


def grams(text, q):
    """The set of q-grams of a text with a space at both ends; words where q is 0."""
    if q == 0:
        return set(text.split())
    if not text:
        return set()
    padded = f" {text} "
    padded += " " * (q - len(padded))
    return {padded[i : i + q] for i in range(len(padded) - q + 1)}


def rarity(reference, q):
    """Weight of a token by the number of reference texts that hold it."""
    count = {}
    for text in reference:
        for token in grams(text, q):
            count[token] = count.get(token, 0) + 1
    return lambda token: math.log1p(len(reference) / max(count.get(token, 0), 1))


def set_distance(a, b, q, name, weigh):
    """A distance between the weighted token sets of two texts."""
    a, b = grams(a, q), grams(b, q)
    if name == "cosine":
        norms = math.sqrt(sum(weigh(t) ** 2 for t in a)) * math.sqrt(sum(weigh(t) ** 2 for t in b))
        return 1 - sum(weigh(t) ** 2 for t in a & b) / max(norms, 1e-12)
    whole = {"jaccard": a | b, "query containment": a, "reference containment": b}[name]
    return 1 - sum(map(weigh, a & b)) / max(sum(map(weigh, whole)), 1e-12)


def soft_miss(a, b, weigh, floor=0.6):
    """Share of the weight of the words of a without a counterpart, in part, among those of b."""
    total = missed = 0.0
    for word in grams(a, 0):
        best = 0.0
        for other in grams(b, 0):
            longer = max(len(word), len(other))
            similarity = 1 - edit_distance(word, other) / longer
            if similarity >= floor:
                best = max(best, similarity)
        total += weigh(word)
        missed += weigh(word) * (1 - best)
    return missed / total if total else 0.0


def distance(query, reference, tokens, name, texts):
    """Distance of a configuration between a query text and a reference text."""
    if tokens == "characters":
        return edit_distance(query, reference) / max(len(query), len(reference), 1)
    if tokens == "similar words":
        weigh = rarity(texts, 0)
        sides = {
            "query containment": soft_miss(query, reference, weigh),
            "reference containment": soft_miss(reference, query, weigh),
        }
        return sides.get(name, sum(sides.values()) / 2)
    q = {"words": 0, "2-grams": 2, "3-grams": 3}[tokens]
    return set_distance(query, reference, q, name, rarity(texts, q))


def most_similar(queries, indexed, weights, k, is_self=False):
    """The k rows of highest weighted cosine to each row, of equal ones the first; rows are sets of token numbers."""

    def norm(row):
        return math.sqrt(sum(weights[token] for token in row))

    found = []
    for i, query in enumerate(queries):
        scored = []
        for j, other in enumerate(indexed):
            shared = set(query) & set(other)
            if shared and not (is_self and i == j):
                total = 0.0
                for token in sorted(shared):  # in this order, so that equal sums are equal numbers
                    total += weights[token]
                scored.append((-total / (norm(query) * norm(other)), j))
        found.append([j for _, j in sorted(scored)[:k]])
    return found


def rule_counts(a, b, kinds, rules):
    """The highest count of a rule over exchanged words, and over words of one side; rules by (larger, smaller) kind."""
    only = [kinds[token] for token in set(a) - set(b)], [kinds[token] for token in set(b) - set(a)]
    exchanged = max((rules.get((max(x, y), min(x, y)), 0) for x in only[0] for y in only[1]), default=0)
    single = max((rules.get((x, 0), 0) for side in only for x in side), default=0)
    return [exchanged, single]


def error_rates(scores, partners, decoys):
    """Expected wrong pairs over distinct partners above each score or a lower one, whichever is less."""
    if not decoys:
        share = 1.0
    else:
        ordered = sorted(decoys)
        n = len(ordered)
        middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        share = sum(d <= middle for d in decoys) / n
        n_wrong = (sum(s <= middle for s in scores) + 1) / share
        n_partners = len({p for s, p in zip(scores, partners, strict=True) if s > middle})
        share = min(1.0, max(n_wrong, len(scores) - n_partners) / len(scores))

    def at(s):
        wrong = share * len(scores) * (sum(d >= s for d in decoys) + 1) / (len(decoys) + 1)
        return wrong / len({p for other, p in zip(scores, partners, strict=True) if other >= s})

    return [min(at(other) for other in scores if other <= s) for s in scores]


def usual_differences(pairs, likeness):
    """How usual the difference of each pair (row, text, other text) is, counted by the chances of its rows."""
    chance = []
    for (row, *_), own in zip(pairs, likeness, strict=True):
        chance.append(math.exp(own) / sum(math.exp(b) for (r, *_), b in zip(pairs, likeness, strict=True) if r == row))
    words = [(set(text.split()), set(other.split())) for _, text, other in pairs]
    found = []
    for i, (row, *_) in enumerate(pairs):
        left_over = [words[i][0] - words[i][1], words[i][1] - words[i][0]]
        same = sum(
            chance[j]
            for j in range(len(pairs))
            if pairs[j][0] != row and [words[j][0] - words[j][1], words[j][1] - words[j][0]] == left_over
        )
        line = [math.log1p(same) if any(left_over) else 0.0]
        for side in (0, 1):
            total = 0.0
            for word in left_over[side]:
                for sign, weights in ((1, chance), (-1, [1 - c for c in chance])):
                    others = [j for j in range(len(pairs)) if j != i and word in words[j][side]]
                    dropped = sum(weights[j] for j in others if word not in words[j][1 - side])
                    total += sign * math.log((dropped + 0.3) / (sum(weights[j] for j in others) + 1.0))
            line.append(total)
        found.append(line)
    return found
