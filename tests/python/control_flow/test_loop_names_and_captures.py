"""Names in and around the body of an ONNX Loop: what it captures, what shadows, and what is not seen."""

import numpy as np
import rondel
from models import TRUE, refused, run, same, scalar, session


def test_bodies_capture_through_three_levels():
    text = """
    main (int64 m, float x) => (float y) {
      outer = Add (x, x)
      y = Loop (m, , x) <body: graph = one (i, go1, a) => (go1, b) {
        first = Add (a, outer)
        b = Loop (m, , a) <body: graph = two (j, go2, c) => (go2, d) {
          second = Mul (c, first)
          d = Loop (m, , c) <body: graph = three (k, go3, e) => (go3, f) {
            t1 = Add (e, x)
            t2 = Add (t1, outer)
            t3 = Add (t2, first)
            f = Add (t3, second)
          }>
        }>
      }>
    }"""
    x = m = 2.0
    y = x
    for _ in range(int(m)):
        first, c = y + 2 * x, y
        for _ in range(int(m)):
            second, e = c * first, c
            for _ in range(int(m)):
                e = e + x + 2 * x + first + second
            c = e
        y = c
    same(run(text, {"m": scalar(2), "x": scalar(2, np.float32)})[0], scalar(y, np.float32))


def test_an_inner_loop_reads_the_outer_index():
    text = """
    main (int64 m) => (int64[n, 3] table) {
      three = Constant <value_int: int = 3> ()
      table = Loop (m, "") <body: graph = rows (i, go) => (go, row) {
        row = Loop (three, "") <body: graph = columns (j, go2) => (go2, cell) {
          ten = Constant <value_int: int = 10> ()
          tens = Mul (i, ten)
          cell = Add (tens, j)
        }>
      }>
    }"""
    want = [[10 * i + j for j in range(3)] for i in range(4)]
    same(run(text, {"m": scalar(4)})[0], np.array(want, np.int64))


def test_inner_trip_count_depends_on_the_outer_trip():
    text = """
    main (int64 m, int64 x) => (int64 y) {
      y = Loop (m, , x) <body: graph = outer (i, go, a) => (go, b) {
        b = Loop (i, , a) <body: graph = inner (j, go2, c) => (go2, d) {
          s = Add (c, j)
          d = Add (s, i)
        }>
      }>
    }"""
    y = 0
    for i in range(5):
        for j in range(i):
            y += j + i
    same(run(text, {"m": scalar(5), "x": scalar(0)})[0], scalar(y))


def test_a_body_input_shadows_an_outer_name():
    text = """
    main (int64 m, float x) => (float y, float z) {
      y = Loop (m, , x) <body: graph = body (i, go, x) => (go, b) { b = Add (x, x) }>
      z = Identity (x)
    }"""
    y, z = run(text, {"m": scalar(3), "x": scalar(1, np.float32)})
    same(y, scalar(8, np.float32))
    same(z, scalar(1, np.float32))


def test_a_body_node_output_shadows_an_outer_name():
    text = """
    main (int64 m, float x) => (float y, float z) {
      t = Add (x, x)
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, b) {
        t = Mul (a, a)
        b = Add (t, a)
      }>
      z = Identity (t)
    }"""
    y, z = run(text, {"m": scalar(2), "x": scalar(1, np.float32)})
    same(y, scalar(6, np.float32))
    same(z, scalar(2, np.float32))


def test_body_inputs_are_bound_by_position():
    # The condition is named x, the trip index go and the state i: binding is by position.
    text = """
    main (int64 m, bool c, float x) => (float y) {
      y = Loop (m, c, x) <body: graph = body (go, x, i) => (x, m) { m = Add (i, i) }>
    }"""
    same(run(text, {"m": scalar(3), "c": TRUE, "x": scalar(1, np.float32)})[0], scalar(8, np.float32))


def test_two_loops_may_use_the_same_names():
    text = """
    main (int64 m, float x) => (float y) {
      a = Loop (m, , x) <body: graph = body (i, go, s) => (go, t) { t = Add (s, s) }>
      y = Loop (m, , a) <body: graph = body (i, go, s) => (go, t) { t = Mul (s, s) }>
    }"""
    same(run(text, {"m": scalar(2), "x": scalar(1, np.float32)})[0], scalar(256, np.float32))


def test_a_capture_before_its_definition_is_refused():
    text = """
    main (int64 m, float x) => (float y, float late) {
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, b) { b = Add (a, late) }>
      late = Add (x, x)
    }"""
    with refused(rondel.CallerError, "late"):
        session(text)


def test_an_inner_value_is_not_seen_outside():
    text = """
    main (int64 m, float x) => (float z) {
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, inner) { inner = Add (a, a) }>
      z = Identity (inner)
    }"""
    with refused(rondel.CallerError, "inner"):
        session(text)
